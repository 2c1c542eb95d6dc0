"""The ledger: every change as an entry of a hash chain that proves itself and can be taken back."""

from mnemic.ledger.chain import GENESIS, canonical, leaf_hash, payload_hash
from mnemic.ledger.record import Ledger
from mnemic.ledger.witness import FolderWitness, NoWitness, Witness

__all__ = ["GENESIS", "FolderWitness", "Ledger", "NoWitness", "Witness", "canonical", "leaf_hash", "payload_hash"]
