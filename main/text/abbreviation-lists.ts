/** English abbreviations by what may follow them: sentence splitting and normalisation share these lists. */

const set = (words: string) => new Set(words.trim().split(/\s+/));

/** Stand before a name, so their period never ends a sentence. */
export const titles = set(`
  mr mrs ms mx dr prof profs drs messrs mme mlle rev revd fr hon gen col maj capt cpt cmdr cdr lt sgt cpl pvt adm brig
  gov sen rep reps sens pres amb supt insp det sr-dr mgr msgr st ste mt ft hrh sir dame vs v e.g i.e cf viz eg ie
  incl excl approx appt`);

/** Stand before a number: "No. 5", "p. 12". Before anything else they are words or ends. */
export const beforeNumbers = set(`
  no nos p pp vol vols fig figs sec secs ch chap art par para eq eqs ex app tab ca c est fl agg circa nr ref tel ext apt
  rm ste rt rte hwy bldg op cat ver v r s n b d m reg stat cl sched`);

/** May end a sentence or stand inside one; the next word decides. */
export const mayEnd = set(`
  etc inc ltd co corp llc plc bros jr sr esq ph.d m.d b.a m.a b.sc m.sc d.d.s r.n u.s u.k u.s.a u.n e.u d.c a.m p.m
  am pm b.c a.d b.c.e c.e et al al assn assoc dept univ govt mfg natl intl ave blvd rd ln pl sq ct pkwy hwy st dr
  jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
  ft in lb lbs oz yd mi gal qt pt hr hrs min mins sec secs mo yr yrs wk km cm mm kg mg ml avg max temp misc orig
  ed eds trans dist cont ibid n.b p.s q.e.d r.i.p a.k.a`);

/** Abbreviated units: after a number a period and a capital end the sentence. */
export const unitAbbreviations = set(
  'ft in lb lbs oz yd mi gal qt pt hr hrs min mins sec secs yr yrs wk km cm mm kg mg ml',
);

export function isAbbreviation(word: string): boolean {
  return titles.has(word) || mayEnd.has(word) || beforeNumbers.has(word);
}

/** Words that often begin a sentence and seldom follow an abbreviation inside one. */
export const starters = set(`
  the a an he she it they we you i i'm i've i'll i'd it's that's he's she's they're we're there's what's let's
  this that these those but and or so if when while in on at for as after before there then his her its our my your
  their what who why how where which however although though because since until not no yes once now here with by from
  to some many most all both each every even still also meanwhile moreover furthermore therefore thus nevertheless
  finally later first second third next another other one two three people today yesterday tomorrow perhaps maybe please
  do does did is are was were will would can could should may might have has had let go see take make get don't didn't
  doesn't isn't wasn't can't couldn't won't wouldn't`);

/** After "9 a.m." these belong to the same sentence. */
export const afterTimes = set(`
  monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
  october november december est edt cst cdt mst mdt pst pdt gmt utc bst cet cest eastern central pacific mountain greenwich`);

/** `"Really?" Mary asked.`: the sentence goes on after the quotation. */
export const speechVerbs = set(`
  said says asked asks replied replies cried cries shouted shouts whispered whispers answered answers added adds yelled
  exclaimed muttered murmured called demanded wondered thought continued repeated laughed screamed told insisted
  explained remarked interrupted announced agreed began`);

/** A single letter after one of these names a thing, it is no initial: "vitamin C. Eat more." */
export const letterNames = set(`
  vitamin plan grade type class section part figure appendix option hepatitis letter team group point level size
  exhibit phase block column row side unit hall gate room zone chapter`);
