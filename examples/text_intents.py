"""What a customer wants, from one sentence: TF-IDF and the sphere in a scikit-learn pipeline."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from hyperproto.estimators import HypersphericalClassifier

SENTENCES = {
    "lost card": "I lost my card|my card was stolen|I cannot find my card|someone took my card|block my lost card|"
    "report a stolen card|my card has gone missing|left my card in a shop|freeze my card it is lost|card lost abroad",
    "balance": "how much money do I have|what is my balance|show my account balance|how much is in my account|"
    "money left in my account|check my balance please|current balance of my account|how much can I still spend|"
    "what is left on my account|balance today",
    "transfer": "send money to my sister|transfer money to another bank|make a transfer to a friend|pay my rent|"
    "how do I send money abroad|move money to my savings|send fifty dollars to Ann|set up a transfer|"
    "transfer to a new person|I want to send money",
    "password": "I forgot my password|reset my password|cannot log in|my password does not work|change my password|"
    "locked out after a wrong password|log in fails|new password please|how to change the password|password rejected",
}
NEW = {
    "my card is lost": "lost card",
    "how much is my balance": "balance",
    "I would like to transfer money": "transfer",
    "please reset the password": "password",
    "someone stole my card": "lost card",
    "send money to a friend abroad": "transfer",
}
texts = [text for group in SENTENCES.values() for text in group.split("|")]
intents = [intent for intent, group in SENTENCES.items() for _ in group.split("|")]

model = make_pipeline(
    TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)), HypersphericalClassifier(random_state=0)
).fit(texts, intents)
answers = model.predict(list(NEW))
for text, answer, chances in zip(NEW, answers, model.predict_proba(list(NEW)), strict=True):
    print(f"{text}: {answer} ({100 * chances.max():.0f} %)")
assert sum(answer == right for answer, right in zip(answers, NEW.values(), strict=True)) >= 5
