import { amount } from './numbers.ts';
import { type Context, finalDot, nextWord, type Rule, rule, spell, tokenEnd } from './rule.ts';

const entries = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(' = ') as [string, string]);

/** Written with a period (and often without): only before a capitalised word. */
const titles = new Map(
  entries(`
mr = mister
mrs = missus
ms = miz
mx = mix
messrs = messers
prof = professor
profs = professors
rev = reverend
revd = reverend
fr = father
hon = honorable
gen = general
col = colonel
maj = major
capt = captain
cpt = captain
cmdr = commander
cdr = commander
lt = lieutenant
sgt = sergeant
cpl = corporal
pvt = private
adm = admiral
brig = brigadier
gov = governor
sen = senator
sens = senators
rep = representative
reps = representatives
pres = president
amb = ambassador
supt = superintendent
insp = inspector
det = detective
msgr = monsignor
mme = madame
mlle = mademoiselle
mt = mount
ft = fort
pt = point`),
);
/** These titles are common without the period too. */
const bareTitles = /^(?:Mr|Mrs|Ms|Mx|Prof|Rev|Capt|Sgt|Lt|Col|Gen|Cpl|Mme|Mlle|Messrs|Mt)$/;

/** Always said in full when written with a period. */
const dotted = new Map(
  entries(`
etc = et cetera
vs = versus
approx = approximately
appt = appointment
inc = incorporated
ltd = limited
corp = corporation
co = company
bros = brothers
jr = junior
sr = senior
esq = esquire
dept = department
depts = departments
govt = government
univ = university
assn = association
assoc = associates
est = established
misc = miscellaneous
temp = temperature
avg = average
agg = aggregate
max = maximum
min = minimum
incl = including
excl = excluding
orig = original
natl = national
intl = international
mfg = manufacturing
ave = avenue
blvd = boulevard
rd = road
ln = lane
pkwy = parkway
hwy = highway
sq = square
bldg = building
apt = apartment
ste = suite
tel = telephone
ext = extension
fig = figure
figs = figures
vol = volume
vols = volumes
chap = chapter
sec = section
secs = sections
para = paragraph
eq = equation
eqs = equations
app = appendix
tab = table
ed = edition
eds = editors
trans = translated
cont = continued
dist = distributed
viz = namely
cf = compare
ca = circa
al = al
ibid = ibid
wk = week
hr = hour
hrs = hours
mins = minutes
yr = year
yrs = years
lbs = pounds
qty = quantity
ref = reference
encl = enclosed
attn = attention
pkg = package
wt = weight
ht = height
def = definition
adj = adjective
adv = adverb
alt = alternative
lang = language
sci = science
admin = administration
mgr = manager
asst = assistant
dir = director
tech = technical`),
);
/** Only words like these keep their period's reading when a sentence really ends there: "He is the max." */
const alsoWords =
  /^(?:co|est|temp|max|min|sec|app|tab|ed|al|def|alt|tech|dir|trans|ref|cont|ext|sq|ave|adv)$/;

/** With inner periods. Capital letters are letters by name. */
const inner = new Map(
  entries(`
e.g = for example
i.e = that is
a.m = A M
p.m = P M
a.k.a = also known as
w.r.t = with respect to
r.i.p = rest in peace
q.e.d = Q E D
n.b = note well
p.s = P S
et al = et al
ph.d = P H D
ph.ds = P H D's
b.sc = B S C
m.sc = M S C
d.phil = D Phil
ed.d = E D D
lit.d = Lit D`),
);

/** Before a number only. */
const numbered = new Map(
  entries(`
no = number
nos = numbers
nr = number
p = page
pp = pages
ch = chapter
sec = section
art = article
fig = figure
figs = figures
vol = volume
c = circa
ca = circa
v = version
ver = version
vers = version
op = opus
rm = room
rte = route
rt = route
apt = apartment
para = paragraph
eq = equation
tab = table
app = appendix
ex = example
ext = extension
approx = approximately`),
);

/** Written with a slash or an apostrophe. */
const slashed = new Map(
  entries(`
w/o = without
w/ = with
b/c = because
n/a = N A
c/o = care of
a/c = A C
i/o = I O
and/or = and or
he/she = he or she
she/he = she or he
s/he = she or he
his/her = his or her
him/her = him or her
he/him = he him
she/her = she her
24/7 = twenty four seven
km/h = kilometers per hour
mi/h = miles per hour
m/s = meters per second
mb/s = megabytes per second
gb/s = gigabytes per second
'n' = and
'em = 'em
'til = till
'cause = 'cause
'tis = it is
'twas = it was`),
);

const isCapitalised = (word: string) => /^\p{Lu}/u.test(word);

/** St. and Dr. by their neighbours: "St. Paul", "Main St.", "Dr. Lee", "Elm Dr." */
function streetOrTitle(word: string, context: Context, end: number): string {
  const title = word === 'dr' ? 'doctor' : 'saint';
  const road = word === 'dr' ? 'drive' : 'street';
  const afterName =
    isCapitalised(context.before) &&
    !/^(?:The|In|At|And|Of|To|Near|By|On|For|From|With|But|When|If|So|Then|As|Saint|St|Dr|Mr|Mrs|Ms|Dear|Hello|Hi|Thanks|Thank|Ask|Call|See|Says?)$/.test(
      context.before,
    );
  const beforeName = isCapitalised(nextWord(context, end));
  if (beforeName && !afterName) return title;
  if (beforeName && word === 'dr' && !/\d/.test(context.text.slice(Math.max(0, end - 40), end))) return title;
  return afterName || !beforeName ? (word === 'dr' && !afterName ? title : road) : title;
}

const dottedWord = `(\\p{L}{1,8})\\.(?![\\p{L}\\p{N}])`;

export const abbreviationRules: readonly Rule[] = [
  // w/o, and/or, 'til
  rule(
    "(?:w/o|w/|km/h|mi/h|m/s|[mg]b/s|b/c|n/a|c/o|a/c|i/o|and/or|s?he/(?:s?he|him|her)|his/her|him/her|24/7|'n'|'em|'til|'cause|'tis|'twas)(?![\\p{L}\\p{N}'])",
    'iu',
    (m) => slashed.get(m[0].toLowerCase()),
  ),
  rule(
    `et al\\.?${tokenEnd}`,
    'u',
    (m, context, end) => `et al${m[0].endsWith('.') ? finalDot(context, end) : ''}`,
  ),
  // e.g., Ph.D., a.m.
  rule('((?:\\p{L}{1,4}\\.)+\\p{L}{1,4})\\.?(?![\\p{L}\\p{N}])', 'u', (m, context, end) => {
    const said = inner.get(m[1]!.toLowerCase());
    return said === undefined ? undefined : said + finalDot(context, end);
  }),
  rule(`(?:eg|ie)${tokenEnd}\\.?`, 'u', (m) => inner.get(`${m[0][0]}.${m[0][1]}`)),
  // No. 5, pp. 3-5
  rule(
    '(Nos?|nos?|[Pp]p?|[Cc]h|[Ss]ec|[Aa]rt|[Ff]igs?|[Vv]ol|c|ca|[Vv]|[Vv]ers?|[Oo]p|[Rr]m|[Rr]te?|[Aa]pt|[Pp]ara|[Ee]q|[Tt]ab|[Aa]pp|[Ee]x|[Ee]xt|approx|[Nn]r)\\.\\s?(?=\\d|(?:[VX]|[IVX]{2,})(?![\\p{L}\\u0027]))',
    'u',
    (m) => numbered.get(m[1]!.toLowerCase()),
  ),
  rule('([Vv])(?=\\d+(?:\\.\\d+)+(?![\\p{L}\\d]))', 'u', () => 'version'),
  rule('(pp?)(?=\\d+(?![\\p{L}\\d]))', 'u', (m) => numbered.get(m[1]!)),
  // Dr. and St.
  rule(`(Dr|St)(\\.?)${tokenEnd}`, 'u', (m, context, end) => {
    const word = m[1]!.toLowerCase();
    if (m[2] === '' && !isCapitalised(nextWord(context, end))) {
      return isCapitalised(context.before) ? streetOrTitle(word, context, end) : undefined;
    }
    return streetOrTitle(word, context, end) + (m[2] === '.' ? finalDot(context, end) : '');
  }),
  rule(`(Drs|Ste|Sts)\\.`, 'u', (m, context, end) =>
    isCapitalised(nextWord(context, end))
      ? { Drs: 'doctors', Ste: 'saint', Sts: 'saints' }[m[1]!]
      : undefined,
  ),
  // Mr. Smith, Mr Smith
  rule(dottedWord, 'u', (m, context, end) => {
    const said = titles.get(m[1]!.toLowerCase());
    if (said === undefined || !isCapitalised(m[1]!)) return undefined;
    return isCapitalised(nextWord(context, end)) || /^M[rs]/.test(m[1]!)
      ? said + finalDot(context, end)
      : undefined;
  }),
  rule(`(\\p{Lu}\\p{Ll}{1,5})${tokenEnd}(?=\\s\\p{Lu})`, 'u', (m) =>
    bareTitles.test(m[1]!) ? titles.get(m[1]!.toLowerCase()) : undefined,
  ),
  rule(`(Mrs?|Ms)${tokenEnd}`, 'u', (m) => titles.get(m[1]!.toLowerCase())),
  // etc., Inc., vs.
  rule(dottedWord, 'u', (m, context, end) => {
    const key = m[1]!.toLowerCase();
    const said = dotted.get(key);
    if (said === undefined) return undefined;
    const dot = finalDot(context, end);
    if (dot !== '' && alsoWords.test(key) && !isCapitalised(m[1]!)) return undefined;
    return said + dot;
  }),
  rule(`(vs|etc|approx)${tokenEnd}`, 'u', (m) => dotted.get(m[1]!)),
  rule(`(?:Jr|Sr)(?=[,\\s]|$)`, 'u', (m) => dotted.get(m[0].toLowerCase())),
  // U.S.A., J. R. R., F.B.I.'s
  rule(
    "((?:\\p{Lu}\\.){2,}\\p{Lu}?|(?:\\p{Lu}\\.){1,4}\\p{Lu}(?![\\p{L}]))('s|s)?(?![\\p{L}\\p{N}])",
    'u',
    (m, context, end) =>
      spell(m[1]!.replaceAll('.', '')) + (m[2] === undefined ? '' : "'s") + finalDot(context, end),
  ),
  rule(
    '(?:\\p{Ll}\\.){2,}(?![\\p{L}\\p{N}])',
    'u',
    (m, context, end) => spell(m[0].replaceAll('.', '')) + finalDot(context, end),
  ),
  rule('(\\p{Lu})\\.(?=[\\s-]?\\p{Lu})', 'u', (m) => m[1]!),
];

/** "#5" and "№ 5" */
export const numberSignRules: readonly Rule[] = [
  rule('(?:#|№\\s?|n°\\s?)(\\d{1,9})(?![\\p{L}\\p{N}])', 'u', (m) => `number ${amount(m[1]!)}`),
  rule('#(?=\\p{Lu}{1,4}-?\\d)', 'u', () => 'number'),
];
