"""The officer's guide, step by step: files that others wrote go from upload to the page to sign as it stands there."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from ..harness import ROOT, Server
from .looks import Chart, NewPage
from .test_uploads import rest

pytestmark = pytest.mark.browser

STEPS, *FILES = re.split("\n##+ ", (ROOT / "docs" / "officers_guide.md").read_text(encoding="utf-8"))[1:]
PLACES = {
    "anes96.csv": "datasets/anes96/anes96.csv",
    "fair.csv": "datasets/fair/fair.csv",
    "heart.csv": "data/hearts.zip",
}
MODULES = {"statsmodels": "statsmodels", "scikit-lego": "sklego"}


def section(name: str) -> str:
    (found,) = (text for text in FILES if text.partition("\n")[0].endswith(f": {name}"))
    return found


def shipped(name: str) -> bytes:
    """The file as its package ships it, from the place that the guide names."""
    text = section(name)
    package, module = next((package, module) for package, module in MODULES.items() if f"package {package}" in text)
    place = PLACES[name]
    assert f"`{place}`" in text
    spec = importlib.util.find_spec(module)
    assert spec and spec.submodule_search_locations, f"{package} must be installed (requirements-dev.lock)"
    content = Path(spec.submodule_search_locations[0], place).read_bytes()
    if place.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(name)
    return content


def chosen(name: str) -> dict[str, str]:
    """What the guide says to choose, by the words on the screen."""
    return dict(re.findall(r"^\| (.+?) \| (.+?) \|$", section(name), re.MULTILINE)[1:])


def codebook(name: str) -> str:
    (found,) = re.findall("```\n(.*?)```", section(name), re.DOTALL)
    return str(found)


class Officer:
    """Somebody who goes through the four steps, and how often they click."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, place: Locator) -> None:
        place.click()
        self.clicks += 1

    def press(self, label: str | re.Pattern[str]) -> None:
        self.click(self.page.get_by_role("button", name=label))

    def upload(self, url: str, name: str, content: bytes) -> None:
        self.page.goto(f"{url}/decide")
        Chart(self.page, "budget").shown()  # of the example
        rest(self.page)
        with self.page.expect_file_chooser() as choosing:
            self.click(self.page.get_by_test_id("stFileUploaderDropzone").get_by_text("Upload", exact=True))
        choosing.value.set_files({"name": name, "mimeType": "text/csv", "buffer": content})  # type: ignore[arg-type]
        expect(self.page.get_by_label("Column to predict")).to_be_visible()
        rest(self.page)

    def paste(self, book: str) -> None:
        self.press("Paste a codebook")
        self.page.get_by_label("A line for each column").fill(book)
        self.clicks += 1
        self.press("Import")
        expect(self.page.get_by_text(re.compile("Imported: ")).last).to_be_visible()
        rest(self.page)

    def tick(self, label: str) -> None:
        self.click(self.page.get_by_text(label).last)
        expect(self.page.get_by_role("checkbox", name=label)).to_be_checked()
        rest(self.page)

    def confirm(self) -> None:
        self.press(re.compile("^Confirm: these"))
        expect(self.page.get_by_role("button", name=re.compile("^Confirm: these"))).to_have_count(0)
        rest(self.page)

    def keep(self, share: str) -> None:
        """Move the slider with the arrow keys."""
        slider = self.page.get_by_role("slider", name="Keep this much of what learning gains")
        self.clicks += 1
        while (said := str(slider.get_attribute("aria-valuetext"))) != share:
            slider.press("ArrowRight" if said < share else "ArrowLeft")
            expect(slider).not_to_have_attribute("aria-valuetext", said)
            rest(self.page)

    def answer(self) -> str:
        """The sentence once all splits are in."""
        expect(self.page.get_by_text(re.compile(r"over all \d+ splits"))).to_be_visible()
        rest(self.page)
        return self.page.locator(".takeaway").last.inner_text().replace("\N{NO-BREAK SPACE}", " ")

    def take(self, label: str | re.Pattern[str]) -> Download:
        with self.page.expect_download() as waiting:
            self.press(label)
        return waiting.value


def test_the_guide_names_three_files_one_of_them_large():
    assert set(PLACES) == {
        text.partition("\n")[0].partition(": ")[2] for text in FILES if ": " in text.partition("\n")[0]
    }
    for name in PLACES:
        records = int(re.search(r"^([\d,]+) ", section(name).partition("\n\n")[2])[1].replace(",", ""))  # type: ignore[index]
        assert len(shipped(name).splitlines()) == records + 1, name
    assert len(shipped("fair.csv").splitlines()) > 5_000


@pytest.mark.parametrize("name", PLACES)
def test_the_steps_lead_from_the_file_to_the_page_to_sign(
    server: Server, page: Page, new_page: NewPage, tmp_path: Path, name: str, complaints: list[str]
):
    for word in ("Upload", "Paste a codebook", "Import", "Confirm: these", "Page to sign", "Key"):
        assert f"**{word}**" in STEPS, "the guide names what is pressed"
    asked, officer = chosen(name), Officer(page)
    officer.upload(server.url, name, shipped(name))
    if threshold := asked.get("Threshold"):
        page.get_by_label("Threshold").fill(threshold)
        page.keyboard.press("Enter")
        officer.clicks += 1
        rest(page)
    officer.paste(codebook(name))
    if "Yes/no columns" in asked:
        officer.tick("Yes/no columns")
    officer.confirm()
    if "Leave out rows" in asked:
        officer.tick("Leave out rows")
    if share := asked.get("Keep this much of what learning gains"):
        officer.keep(share)
    answer = officer.answer()
    expect(page.get_by_text(asked["*you then read*"])).to_be_visible()
    assert answer.startswith(asked["*and*"])
    if not answer.startswith("Sign"):
        expect(page.get_by_text("Nothing to sign")).to_be_visible()
    else:
        briefing = officer.take("Page to sign (HTML)")
        briefing.save_as(tmp_path / "briefing.html")
        assert officer.take("Key (text)").suggested_filename.endswith(".key")
        signed = new_page()
        signed.goto((tmp_path / "briefing.html").as_uri())
        budget = re.search(r"ε = ([\d.]+):", answer)[1]  # type: ignore[index]
        assert briefing.suggested_filename.startswith(f"{name.removesuffix('.csv')}_eps{budget}_")
        for words in (f"ε = {budget}", name, "Signature"):
            expect(signed.locator("main")).to_contain_text(words)
        for words in ("Nothing to sign", "chosen after looking"):
            expect(signed.locator("main")).not_to_contain_text(words)
    officer.take("Download the column dictionary")
    assert officer.clicks <= (20 if ":" in codebook(name) else 12)
    assert complaints == []


# Files that are not ours to ship, in the folder DPCORE_DATA: what their documentation says of their columns.
JOBS = (
    *("admin.", "blue-collar", "entrepreneur", "housemaid", "management", "retired", "self-employed", "services"),
    *("student", "technician", "unemployed", "unknown"),
)
SCHOOLS = ("basic.4y", "basic.6y", "basic.9y", "high.school", "illiterate", "professional.course", "university.degree")
BANK = f"""age, 0, 120
job: {"; ".join(JOBS)}
marital: divorced; married; single; unknown
education: {"; ".join(SCHOOLS)}; unknown
default: no; yes; unknown
housing: no; yes; unknown
loan: no; yes; unknown
contact: cellular; telephone
month: jan; feb; mar; apr; may; jun; jul; aug; sep; oct; nov; dec
day_of_week: mon; tue; wed; thu; fri
duration, 0, 3600
campaign, 1, 50
pdays, 0, 999
previous, 0, 10
poutcome: failure; nonexistent; success
emp.var.rate, -5, 5
cons.price.idx, 90, 100
cons.conf.idx, -60, 0
euribor3m, 0, 6
nr.employed, 4000, 6000"""
STROKE = """gender: Female; Male; Other
age, 0, 120
work_type: children; Govt_job; Never_worked; Private; Self-employed
Residence_type: Rural; Urban
avg_glucose_level, 40, 300
bmi, 10, 70
smoking_status: formerly smoked; never smoked; smokes; Unknown"""
SERVICES = ("OnlineSecurity", "OnlineBackup", "DeviceProtection", "TechSupport", "StreamingTV", "StreamingMovies")
TELCO = "\n".join(
    [
        "gender: Female; Male",
        "tenure, 0, 72",
        "MultipleLines: {0; 1; 0 phone service}",
        "InternetService: 0; DSL; Fiber optic",
        *(f"{service}: {{0; 1; 0 internet service}}" for service in SERVICES),
        "Contract: Month-to-month; One year; Two year",
        "PaymentMethod: Bank transfer (automatic); Credit card (automatic); Electronic check; Mailed check",
        "MonthlyCharges, 0, 150",
        "TotalCharges, 0, 10000",
        "MonthsSinceSignup, 0, 72",
    ]
)
HEART = """age, 0, 120
creatinine_phosphokinase, 0, 8000
ejection_fraction, 0, 100
platelets, 0, 1000000
serum_creatinine, 0, 10
serum_sodium, 100, 160
time, 0, 365"""
REAL = {
    "bank-additional.csv": (BANK, 20, ()),
    "stroke.csv": (STROKE, 20, ("Yes/no columns", "Leave out rows")),
    "telco.csv": (TELCO, 20, ("Yes/no columns", "Leave out rows")),
    "heart_failure.csv": (HEART, 12, ("Yes/no columns",)),
}


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_answered_in_few_clicks(server: Server, page: Page, name: str, complaints: list[str]):
    path = Path(os.environ.get("DPCORE_DATA", ""), name)
    if not path.is_file():
        pytest.skip(f"{name} is not in the folder DPCORE_DATA")
    book, most, ticks = REAL[name]
    officer = Officer(page)
    officer.upload(server.url, name, path.read_bytes())
    officer.paste(book)
    for label in ticks:
        officer.tick(label)
    officer.confirm()
    assert re.match(r"Sign ε = [\d.]+: |No useful budget: ", officer.answer())
    officer.take("Download the column dictionary")
    assert officer.clicks <= most and complaints == []
