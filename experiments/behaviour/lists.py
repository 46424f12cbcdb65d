"""The test's own names and frames. None of them may stand in training: a translator has to carry them over, not know them.

A frame is an English sentence with a slot, {}, and the French sentences that a reader would write for it. Some of
them end in a colon and announce the carrier.
"""

from typing import NamedTuple


def listed(words: str) -> list[str]:
    return words.split()


class Frame(NamedTuple):
    english: str
    french: tuple[str, ...]


MEN = listed(
    "Barnaby Cuthbert Leopold Rupert Tobias Bartholomew Ignatius Aurelio Rodrigo Kwame Babatunde Tariq Yusuf Dmitri "
    "Casimir Lorenz Ansel Torsten Fergus Alasdair Callum Hamish Ewan Rhys Gareth Emrys Osric Percival Thaddeus Ezekiel "
    "Obadiah Cornelius Horatio Lysander Octavio Jarek Bohdan Mirko Zoltan Hiroshi Sanjay Loïc Gaël"
)
WOMEN = listed(
    "Ottilie Rosalind Imogen Cordelia Winifred Saskia Thandiwe Anneliese Priya Leocadia Maeve Niamh Siobhan Elspeth "
    "Isolde Odile Zuleika Freya Sunniva Marisol Ximena Yolanda Kezia Tamsin Philippa Henrietta Millicent Lavinia Rowena "
    "Gwendolyn Bronwen Ffion Aisling Orla Mireille Solange Noémie Anaïs"
)
SURNAMES = listed(
    "Abernathy Blackwood Castellano Donnelly Eriksen Fairbanks Goldberg Hawthorne Ivanovich Jankowski Kowalski Lindqvist "
    "Nakamura Okonkwo Pemberton Quigley Rutherford Szymanski Thornbury Underhill Vandermeer Whitfield Yamamoto Zimmerman "
    "Ashworth Cavendish Ellsworth Featherstone Galloway Huxley Kensington Lockhart Merriweather Oyelaran Prescott "
    "Ravenscroft Thackeray Vasquez Wetherby Yardley Kapoor Ferreira"
)
NAMES = [*MEN, *WOMEN, *SURNAMES]

COUNTED = [  # frames for a small whole number, in digits or in words
    Frame(
        "Please open your book at page {}.",
        (
            "Ouvrez votre livre à la page {}, s'il vous plaît.",
            "Ouvre ton livre à la page {}, s'il te plaît.",
            "Veuillez ouvrir votre livre à la page {}.",
            "S'il vous plaît, ouvrez votre livre à la page {}.",
        ),
    ),
    Frame(
        "There were {} people in the church.",
        (
            "Il y avait {} personnes dans l'église.",
            "Il y avait {} personnes à l'église.",
            "Il y avait {} gens dans l'église.",
        ),
    ),
    Frame(
        "We have sold {} bottles of wine.",
        ("Nous avons vendu {} bouteilles de vin.", "On a vendu {} bouteilles de vin."),
    ),
    Frame(
        "My grandfather owned {} horses.", ("Mon grand-père possédait {} chevaux.", "Mon grand-père avait {} chevaux.")
    ),
    Frame("She has read {} of these books.", ("Elle a lu {} de ces livres.",)),
    Frame(
        "The hotel has {} rooms.",
        (
            "L'hôtel a {} chambres.",
            "L'hôtel possède {} chambres.",
            "L'hôtel compte {} chambres.",
            "Il y a {} chambres dans l'hôtel.",
            "L'hôtel dispose de {} chambres.",
        ),
    ),
    Frame(
        "He wrote {} letters to his mother.", ("Il a écrit {} lettres à sa mère.", "Il écrivit {} lettres à sa mère.")
    ),
    Frame(
        "This is message number {}:",
        ("C'est le message numéro {} :", "Ceci est le message numéro {} :", "Voici le message numéro {} :"),
    ),
]
LARGE = [  # frames for a whole number of four digits or more
    Frame(
        "The village has {} inhabitants.",
        ("Le village a {} habitants.", "Le village compte {} habitants.", "Il y a {} habitants dans le village."),
    ),
    Frame("They have planted {} trees.", ("Ils ont planté {} arbres.", "Elles ont planté {} arbres.")),
    Frame("Our school bought {} books.", ("Notre école a acheté {} livres.", "Notre école acheta {} livres.")),
    Frame(
        "They counted {} votes:",
        (
            "Ils ont compté {} votes :",
            "Ils comptèrent {} votes :",
            "Ils ont compté {} voix :",
            "On a compté {} votes :",
        ),
    ),
]
YEARS = [
    Frame(
        "This church was built in {}.",
        (
            "Cette église a été construite en {}.",
            "Cette église fut construite en {}.",
            "Cette église a été bâtie en {}.",
        ),
    ),
    Frame(
        "We moved to the village in {}.",
        (
            "Nous avons déménagé au village en {}.",
            "Nous avons emménagé au village en {}.",
            "Nous avons déménagé dans le village en {}.",
            "Nous nous sommes installés au village en {}.",
        ),
    ),
    Frame(
        "He wrote in his diary in {}:",
        (
            "Il écrivit dans son journal en {} :",
            "Il a écrit dans son journal en {} :",
            "En {}, il écrivit dans son journal :",
        ),
    ),
]
DECIMALS = [
    Frame("The bag weighs {} kilos.", ("Le sac pèse {} kilos.", "Le sac fait {} kilos.")),
    Frame(
        "The road is {} kilometers long.",
        (
            "La route fait {} kilomètres de long.",
            "La route est longue de {} kilomètres.",
            "La route mesure {} kilomètres de long.",
            "La route fait {} kilomètres.",
        ),
    ),
]
PERCENTS = [
    Frame(
        "About {} of the children were ill.",
        ("Environ {} des enfants étaient malades.", "À peu près {} des enfants étaient malades."),
    ),
    Frame(
        "We have already lost {} of our money.",
        ("Nous avons déjà perdu {} de notre argent.", "On a déjà perdu {} de notre argent."),
    ),
]
PRICES = [
    Frame("I paid {} for this lamp.", ("J'ai payé {} pour cette lampe.", "J'ai payé cette lampe {}.")),
    Frame(
        "The two tickets cost {}.",
        (
            "Les deux billets coûtent {}.",
            "Les deux billets ont coûté {}.",
            "Les deux tickets coûtent {}.",
            "Les deux billets coûtaient {}.",
            "Les deux tickets ont coûté {}.",
        ),
    ),
]
TIMES = [
    Frame(
        "The last bus leaves at {}.",
        ("Le dernier bus part à {}.", "Le dernier autobus part à {}.", "Le dernier bus s'en va à {}."),
    ),
    Frame(
        "Please wake my brother at {}.",
        (
            "Réveille mon frère à {}, s'il te plaît.",
            "Réveillez mon frère à {}, s'il vous plaît.",
            "Veuillez réveiller mon frère à {}.",
            "S'il te plaît, réveille mon frère à {}.",
            "S'il vous plaît, réveillez mon frère à {}.",
        ),
    ),
    Frame(
        "The doctor will see you at {}.",
        (
            "Le médecin vous verra à {}.",
            "Le docteur vous verra à {}.",
            "Le médecin te verra à {}.",
            "Le médecin vous recevra à {}.",
            "Le docteur vous recevra à {}.",
            "Le docteur te verra à {}.",
        ),
    ),
    Frame("We had dinner at {}.", ("Nous avons dîné à {}.", "Nous dînâmes à {}.", "On a dîné à {}.")),
    Frame(
        "My sister came home at {}.",
        (
            "Ma sœur est rentrée à {}.",
            "Ma sœur est rentrée à la maison à {}.",
            "Ma sœur est venue à la maison à {}.",
            "Ma sœur rentra à la maison à {}.",
        ),
    ),
    Frame("The shop opens at {}.", ("Le magasin ouvre à {}.", "La boutique ouvre à {}.")),
    Frame("At {} she wrote to me:", ("À {}, elle m'a écrit :", "À {}, elle m'écrivit :", "Elle m'a écrit à {} :")),
]
DATES = [
    Frame("My parents got married on {}.", ("Mes parents se sont mariés le {}.", "Mes parents se marièrent le {}.")),
    Frame(
        "The new shop opens on {}.",
        ("Le nouveau magasin ouvre le {}.", "La nouvelle boutique ouvre le {}.", "Le nouveau magasin ouvrira le {}."),
    ),
    Frame(
        "She left the hospital on {}.",
        ("Elle a quitté l'hôpital le {}.", "Elle quitta l'hôpital le {}.", "Elle est sortie de l'hôpital le {}."),
    ),
    Frame(
        "Your letter arrived on {}.",
        (
            "Votre lettre est arrivée le {}.",
            "Ta lettre est arrivée le {}.",
            "Ta lettre arriva le {}.",
            "Votre lettre arriva le {}.",
        ),
    ),
    Frame(
        "They will leave the country on {}.",
        (
            "Ils quitteront le pays le {}.",
            "Elles quitteront le pays le {}.",
            "Ils vont quitter le pays le {}.",
            "Ils partiront du pays le {}.",
        ),
    ),
    Frame("On {} he wrote to us:", ("Le {}, il nous a écrit :", "Le {}, il nous écrivit :", "Il nous a écrit le {} :")),
]
GREETINGS = [  # before a question
    Frame("Good morning, dear friends!", ("Bonjour, chers amis !", "Bonjour, chères amies !", "Bonjour chers amis !")),
    Frame(
        "Excuse me for asking.",
        (
            "Excusez-moi de demander.",
            "Excuse-moi de demander.",
            "Excusez-moi de poser la question.",
            "Excusez-moi de vous le demander.",
            "Pardon de demander.",
        ),
    ),
    Frame(
        "Allow me one last question.",
        (
            "Permettez-moi une dernière question.",
            "Permets-moi une dernière question.",
            "Permettez-moi de poser une dernière question.",
            "Accordez-moi une dernière question.",
        ),
    ),
]
FRAMES = [*COUNTED, *LARGE, *YEARS, *DECIMALS, *PERCENTS, *PRICES, *TIMES, *DATES, *GREETINGS]
