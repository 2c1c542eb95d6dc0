"""What memory holds to be so, and what it has learnt to do: diary, facts, concerns, experiences, and their trust."""
