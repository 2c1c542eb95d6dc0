"""The English that the rules judge knows: which words name nothing in particular, how verbs change, what lives are about.

Lists rather than a tagger: they need no model, they are the same everywhere, and what they miss is quoted, not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


THEMES: Mapping[str, frozenset[str]] = {
    "Family": _set(
        """
        family families fam kid kids child children son sons daughter daughters mom mother dad father parent parents
        husband wife partner brother sister sibling siblings grandma grandmother grandpa grandfather aunt uncle cousin
        nephew niece married marriage wedding anniversary baby adoption adopt adopting
        """
    ),
    "Work": _set(
        """
        work job jobs career boss office company business startup client clients customer customers coworker coworkers
        colleague colleagues promotion interview hired fired salary professional investor investors investment
        employee employees internship networking marketing brand sponsor sponsors endorsement deal deals launch
        """
    ),
    "Technology": _set(
        """
        code coding programming software server database app apps website deploy deployment api bug bugs python
        computer laptop gpu hardware network algorithm repository tests postgres linux developer
        """
    ),
    "Education": _set(
        """
        school college university class classes course courses degree study studying studied exam exams teacher
        teaching student students education scholarship workshop workshops lesson lessons learn learning learned
        graduated graduation certification seminar
        """
    ),
    "Health": _set(
        """
        health healthy doctor hospital injury injured therapy therapist counseling counselor diet weight sick illness
        surgery pain meditation sleep stress stressed anxiety checkup ankle knee recovery recover allergy allergies
        allergic medication diagnosed heart asthma accident mental
        """
    ),
    "Sport": _set(
        """
        sport sports basketball football soccer tennis running run ran marathon race gym workout workouts yoga
        training team season game games coach championship tournament tournaments match scored score points swimming
        rowing rowed row regatta surfing surf climbing boxing kickboxing taekwondo cycling bike biking fitness
        exercise court league
        """
    ),
    "Arts": _set(
        """
        art arts painting paintings paint painted draw drawing pottery music song songs guitar piano violin band
        concert sing singing dance dancing write writing wrote book books novel poem poetry read reading movie movies
        film films photo photography theater museum gallery exhibition exhibited screenplay script clarinet craft
        crafts sculpture series
        """
    ),
    "Gaming": _set(
        """
        gaming gamer videogame videogames rpg console playstation xbox esports strategy witcher cyberpunk fifa
        valorant dota chess stream streaming
        """
    ),
    "Travel": _set(
        """
        trip trips travel traveling travelled traveled vacation flight flights flew hotel roadtrip road-trip visit
        visited visiting abroad tour beach mountains hike hiking hiked camping camp camped park europe city country
        festival
        """
    ),
    "Food": _set(
        """
        food cook cooking cooked recipe recipes bakery bread sourdough loaf oven flour dinner lunch breakfast
        restaurant bake baking baked cake cookies meal meals vegetables snacks soda coffee tea ice-cream dessert
        desserts pizza
        """
    ),
    "Pets": _set(
        """
        dog dogs puppy puppies cat cats kitten pet pets shelter vet guinea-pig turtle turtles
        """
    ),
    "Community": _set(
        """
        volunteer volunteering volunteered charity community donate donated donation fundraiser shelter homeless
        activist activism group campaign lgbtq pride mentor mentoring veterans church event support
        """
    ),
    "Home": _set(
        """
        house home apartment garden gardening moved move neighbor neighborhood kitchen furniture flood roof rent car
        plants renovation
        """
    ),
}
"""What the sections of an article about a person are: the first theme with the most words in a statement."""
OTHER = "Personal life"

GENERIC = _set(
    """
    thing things way ways time times day days week weeks weekend weekends month months year years today tomorrow
    yesterday morning night evening afternoon hour hours minute minutes moment moments lot lots bit kind kinds sort
    type part parts piece pieces bunch couple number people person persons someone anyone everyone man men woman women
    guy guys folks friend friends buddy one ones stuff something anything everything nothing world life lives place
    places spot experience experiences idea ideas point reason reasons fact case example question questions answer
    problem problems issue issues change changes step steps goal goals dream dreams plan plans chance opportunity
    opportunities challenge challenges effort efforts result results process progress journey story stories word words
    name names hand hands face eyes mind heart soul spirit head body side end start beginning top bottom back front
    middle rest half line lines news info information detail details message advice tip tips help support care love
    joy fun peace happiness strength courage hope fear confidence inspiration motivation passion memory memories
    feeling feelings emotion emotions smile laugh energy power attitude perspective sense view views look picture
    pictures pic pics photo photos image images video videos one's level set list kinda sorta thanks congrats luck job
    work reality impact difference importance value quality size color colors colour shape sight sound vibe vibes mood
    blast break ride touch note turn sign matter space room deal style self past future present rule rules success
    failure balance connection connections conversation conversations talk chat setup thought thoughts choice choices
    decision beauty wonder reminder hobby hobbies interest interests activity activities project projects area areas
    group groups event events game games team teams event-day others other another each every such same own few many
    much more most less least several first second third last next good great nice big small new old best better bad
    hard easy cool awesome amazing wonderful special important happy sad excited proud glad sure right wrong true real
    free long short high low late early different similar whole full beautiful lovely incredible fantastic perfect
    favorite interesting exciting inspiring fun-filled super pretty little huge tough rewarding calming relaxing
    peaceful challenging stunning unique positive person's nature sky air water light sun sunset sunrise fire cup box
    bag kids kid family home house mom dad will would could should might may must can cannot do does did done go going
    gone went get got getting make made making take took taking come came coming see saw seen seeing know knew think
    feel felt say said tell told try tried trying want wanted need needed like liked use used using keep kept give
    gave given find found show showed let put really just still also even ever never always often sometimes maybe
    perhaps actually definitely totally absolutely here there where when what who why how which this that these those
    and but for with from into about over under after before since until while because though although than then now
    soon later again away off out up down yes yeah yep no not okay ok wow hey hi hello bye thank sorry please haha lol
    gonna wanna gotta btw omg ya yup nah hmm monday tuesday wednesday thursday friday saturday sunday january february
    march april june july august september october november december spring summer autumn fall winter christmas user
    assistant hear share check watch wait learn explore create enjoy continue wish believe understand remember forget
    agree appreciate recommend suggest improve grow build win lose spend meet reach reflect recharge unwind hang chill
    relax bring hold leave stay live work's total sum amount key note-taking anything's everyone's today's bit's
    thing's mine yours ours theirs lately recently nowadays meantime meanwhile course option options item items tool
    tools method way's outlet passions strengths lessons tough-times setting scene version model order purpose focus
    mindset growth resilience determination dedication accomplishment achievement satisfaction gratitude comfort
    escape freedom creativity them they their your yourself yourselves ourselves themselves myself himself herself
    itself some both around together during against plus have been being having looks sounds helps loved filled posing
    sitting standing walking counts shows brings reminds keeps makes means takes gets goes feels seems matters
    happened happening mentioned inspired motivated related based shared added called named known busy rough strong
    safe young furry bigger healthier healthy final basic flavored frustrating impressive experienced difficult
    serious fresh active intense local online virtual immersive blue black white green yellow purple pink orange brown
    grey gray dark bright gorgeous creative caring loving fellow worries cheers impressions afterwards alone enough
    instead across along apart behind beyond outside inside near kindness friendship bond buddies pals favorites faves
    fave encouragement assistance offer openings improvements enthusiasm adventure adventures atmosphere background
    struggle struggles relationships acts actions mindfulness wellbeing recommendation recommendations suggestion
    suggestions effect effects resources resource skills skill cause causes character chapter acceptance inclusivity
    identity equality awareness sharing helping expressing reminding building meeting talking eating drawing's staying
    improving competing playing learning reading's doing thinking looking happen visit drive count stands play works
    works' backs organization organizations center centre street corner floor ground field table chair desk couch
    board keys card store plate bottle bowl pot photography camera money cash price cost laptop phone screen fingers
    hair ears feet legs girl boy child children adult adults kids' crowd audience fans supporters team-mates partner
    partners wife husband brother sister siblings parents mother father grandma grandpa aunt uncle cousin neighbor
    neighborhood neighbors wonders collection cover pattern patterns designs design stars star rock lake ocean river
    mountain mountains beach park road trail trails forest city town country island grass flowers trees tree plants
    animals animal wood glass stone paper fabric drink drinks meal goods gear equipment clothes shirt shoes dress hat
    gift gifts symbol symbols tribute legacy tradition traditions habit habits routine routines lifestyle situation
    distance height depth width speed flow rhythm were well through supportive careful class classes player players
    leader leaders hurdle hurdles tourist court series genre genres notebook trip trips voice source system moves path
    pity smiles mon tue wed thu fri sat european german canadian italian american british french spanish asian african
    english chinese japanese trans mark response combination records platform rush trophy victories victory solutions
    moving rights research language youth cheer move walk tech journeys gathering crazy cute close recent chatted ages
    breaking involves necessary nearby mechanical emotional personal potential smaller three unexpected younger lost
    opens outdoor spoke talks theme homeless ball dishes knowledge residents setback upgrades requirements worlds
    funds member members staff owner owners expert experts wild magical classic shot
    """
)
"""Words that name nothing an article could be about."""

DETERMINERS = _set(
    """
    a an the my our his her their its this that these those some any no every each your
    """
)
BEFORE_NOUN = DETERMINERS | _set(
    """
    of for in about with at into from through during like without new old local first big favorite little free own
    other next last more two three four five several many few love enjoy play playing started try tried learning
    teaching studying practicing doing do watching reading making
    """
)
NOT_BEFORE_NOUN = _set(
    """
    i you we they to can will would could should might may must did do does don't didn't doesn't can't won't not never
    he she it who be been being is are was were am
    """
)

PAST = _set(
    """
    was were had did went got made took came saw knew thought felt said told gave found kept left met ran sang sat
    sent slept spent spoke stood stole swam taught threw understood woke won wore wrote ate bought brought built
    caught chose drew drank drove fell fought flew forgot forgave froze grew heard held hid led lent lost meant paid
    rode rang rose sold shook shot showed shut became began bent bit bled blew broke bred dealt dug dreamt fed fled
    hung knelt laid lit overcame proved sought sewed shone sank stuck stung struck strove swore swept swung tore
    withdrew wound dove snuck spun spread lay learnt leant spelt burnt could would should might must can will shall
    may used
    """
)
"""Verb forms that do not change for a third person."""
AMBIGUOUS = _set(
    """
    read put set let hit cut hurt cost quit bet shed split cast burst beat bid rid fit
    """
)
"""Verbs whose past and present look alike: what they say is quoted."""
ADVERBS = _set(
    """
    really just also still always never usually actually definitely recently totally even already finally only often
    sometimes currently truly absolutely certainly probably honestly quickly initially originally once soon now then
    personally deeply especially mostly mainly simply generally normally regularly occasionally rarely barely nearly
    almost kinda both
    """
)
COMMON_VERBS = _set(
    """
    love like enjoy want need go get make take feel think know hope plan try keep use work live play read write watch
    help look find give have do see say believe prefer hate miss wish dream run swim paint cook teach learn study
    volunteer travel spend start practice train meet talk listen eat drink sleep wake drive ride own join visit share
    create
    """
)
PLAIN_VERBS = _set(
    """
    bake enjoy teach feed eat sing write listen learn believe become prefer wear carry drink bring grow speak
    understand sell buy send choose draw throw catch fly lend forgive forget manage organize organise collect attend
    appreciate admire include involve describe explore explain
    """
)
"""Verbs that are nothing else."""
ELLIPSES: Mapping[str, str] = {
    "gonna": "is going to", "been": "has been", "had": "had", "went": "went", "got": "got", "can't": "can't", "took": "took",
    "made": "made", "started": "started", "finished": "finished", "tried": "tried", "found": "found", "signed": "signed",
    "joined": "joined", "bought": "bought", "met": "met", "decided": "decided", "planning": "is planning",
    "thinking": "is thinking",
    "working": "is working", "researching": "is researching", "looking": "is looking", "hoping": "is hoping", "spent": "spent",
    "saw": "saw", "ran": "ran", "moved": "moved", "visited": "visited", "won": "won", "wrote": "wrote", "gave": "gave",
}  # fmt: skip
"""First words of a sentence whose subject was left out, and how it goes on after the speaker's name."""
