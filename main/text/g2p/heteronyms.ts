/**
 * Words with one spelling and two pronunciations, told apart by their neighbours. The rules are plain cues to the
 * part of speech, written for the commonest of them; each word has a default for when no cue is there.
 */
import { parse, withS } from '../arpabet.ts';

export interface Neighbours {
  /** Lower-case words around it within the sentence, '' where there is none. A mark counts as ''. */
  before: string;
  before2: string;
  after: string;
  /** As written. */
  word: string;
  /** The whole sentence, lower case, for cues that may stand anywhere. */
  has(word: string): boolean;
}

const set = (words: string) => new Set(words.trim().split(/\s+/));

const beforeVerb = set(`
  to will would can could shall should may might must do does did don't doesn't didn't won't wouldn't can't couldn't
  cannot shouldn't i'll you'll we'll they'll he'll she'll it'll i'd you'd we'd they'd let let's please i you we they who not
  never always also often usually help helps`);
const beforeNoun = set(`
  a an the this that these those my your his her its our their whose some any no each every another all both of in on at by with
  for from as into new old first last next good bad big great small own main other same such more less much many few
  several world public official final one two three`);
const afterVerb = set(
  'the a an my your his her its our their it them me us him this these those all every each',
);
const thirdPerson = set('he she it who which that everyone everybody someone nobody');
const passive = set(
  "have has had having i've you've we've they've he's was were been be being is are am get got gets well already just ever never",
);

type Part = 'noun' | 'verb';

function partOfSpeech(n: Neighbours, fallback: Part): Part {
  if (
    n.before === 'to' &&
    /^(?:according|due|access|response|prior|thanks|subject|as|contrary|addition)$/.test(n.before2)
  )
    return 'noun';
  if (beforeVerb.has(n.before)) return 'verb';
  if (beforeNoun.has(n.before) || n.before.endsWith("'s")) return 'noun';
  if (afterVerb.has(n.after)) return 'verb';
  return fallback;
}

/** Noun (or adjective) and verb; the default part is marked by the letter in front. */
const pairs = `
n record|R EH1 K ER0 D|R IH0 K AO1 R D
n present|P R EH1 Z AH0 N T|P R IH0 Z EH1 N T
n object|AA1 B JH EH0 K T|AH0 B JH EH1 K T
n contract|K AA1 N T R AE2 K T|K AH0 N T R AE1 K T
n conduct|K AA1 N D AH0 K T|K AH0 N D AH1 K T
n conflict|K AA1 N F L IH0 K T|K AH0 N F L IH1 K T
n contest|K AA1 N T EH0 S T|K AH0 N T EH1 S T
n contrast|K AA1 N T R AE0 S T|K AH0 N T R AE1 S T
n convert|K AA1 N V ER0 T|K AH0 N V ER1 T
n convict|K AA1 N V IH0 K T|K AH0 N V IH1 K T
n decrease|D IY1 K R IY2 S|D IH0 K R IY1 S
n increase|IH1 N K R IY2 S|IH0 N K R IY1 S
n desert|D EH1 Z ER0 T|D IH0 Z ER1 T
n digest|D AY1 JH EH0 S T|D AY0 JH EH1 S T
n discount|D IH1 S K AW0 N T|D IH0 S K AW1 N T
n export|EH1 K S P AO0 R T|EH0 K S P AO1 R T
n extract|EH1 K S T R AE2 K T|IH0 K S T R AE1 K T
n import|IH1 M P AO2 R T|IH0 M P AO1 R T
n insult|IH1 N S AH2 L T|IH0 N S AH1 L T
n perfect|P ER1 F IH0 K T|P ER0 F EH1 K T
n permit|P ER1 M IH2 T|P ER0 M IH1 T
v produce|P R OW1 D UW0 S|P R AH0 D UW1 S
n progress|P R AA1 G R EH2 S|P R AH0 G R EH1 S
n project|P R AA1 JH EH0 K T|P R AH0 JH EH1 K T
n protest|P R OW1 T EH2 S T|P R AH0 T EH1 S T
n rebel|R EH1 B AH0 L|R IH0 B EH1 L
n refund|R IY1 F AH2 N D|R IH0 F AH1 N D
v refuse|R EH1 F Y UW2 Z|R AH0 F Y UW1 Z
n reject|R IY1 JH EH0 K T|R IH0 JH EH1 K T
n subject|S AH1 B JH IH0 K T|S AH0 B JH EH1 K T
n survey|S ER1 V EY2|S ER0 V EY1
n suspect|S AH1 S P EH2 K T|S AH0 S P EH1 K T
n transfer|T R AE1 N S F ER0|T R AE0 N S F ER1
n transport|T R AE1 N S P AO0 R T|T R AE0 N S P AO1 R T
n update|AH1 P D EY2 T|AH0 P D EY1 T
n upset|AH1 P S EH2 T|AH0 P S EH1 T
n address|AE1 D R EH2 S|AH0 D R EH1 S
n attribute|AE1 T R AH0 B Y UW2 T|AH0 T R IH1 B Y UW2 T
v combine|K AA1 M B AY0 N|K AH0 M B AY1 N
n compound|K AA1 M P AW0 N D|K AH0 M P AW1 N D
n console|K AA1 N S OW0 L|K AH0 N S OW1 L
n entrance|EH1 N T R AH0 N S|EH0 N T R AE1 N S
n escort|EH1 S K AO0 R T|EH0 S K AO1 R T
n exploit|EH1 K S P L OY2 T|EH2 K S P L OY1 T
n frequent|F R IY1 K W AH0 N T|F R IH0 K W EH1 N T
n impact|IH1 M P AE0 K T|IH0 M P AE1 K T
n incline|IH1 N K L AY0 N|IH0 N K L AY1 N
n overlap|OW1 V ER0 L AE2 P|OW2 V ER0 L AE1 P
v recall|R IY1 K AO2 L|R IH0 K AO1 L
n relay|R IY1 L EY2|R IY2 L EY1
n torment|T AO1 R M EH2 N T|T AO0 R M EH1 N T
n abstract|AE1 B S T R AE2 K T|AE0 B S T R AE1 K T
n addict|AE1 D IH2 K T|AH0 D IH1 K T
n ally|AE1 L AY0|AH0 L AY1
n segment|S EH1 G M AH0 N T|S EH2 G M EH1 N T
n misuse|M IH0 S Y UW1 S|M IH0 S Y UW1 Z
v excuse|IH0 K S K Y UW1 S|IH0 K S K Y UW1 Z
n abuse|AH0 B Y UW1 S|AH0 B Y UW1 Z
n house|HH AW1 S|HH AW1 Z
n estimate|EH1 S T AH0 M AH0 T|EH1 S T AH0 M EY2 T
n advocate|AE1 D V AH0 K AH0 T|AE1 D V AH0 K EY2 T
n separate|S EH1 P ER0 IH0 T|S EH1 P ER0 EY2 T
n appropriate|AH0 P R OW1 P R IY0 AH0 T|AH0 P R OW1 P R IY0 EY2 T
n deliberate|D IH0 L IH1 B ER0 AH0 T|D IH0 L IH1 B ER0 EY2 T
n moderate|M AA1 D ER0 AH0 T|M AA1 D ER0 EY2 T
n graduate|G R AE1 JH AH0 W AH0 T|G R AE1 JH AH0 W EY2 T
n alternate|AO1 L T ER0 N AH0 T|AO1 L T ER0 N EY2 T
n duplicate|D UW1 P L AH0 K AH0 T|D UW1 P L AH0 K EY2 T
n associate|AH0 S OW1 SH IY0 AH0 T|AH0 S OW1 SH IY0 EY2 T
n delegate|D EH1 L AH0 G AH0 T|D EH1 L AH0 G EY2 T
n elaborate|IH0 L AE1 B R AH0 T|IH0 L AE1 B ER0 EY2 T
n intimate|IH1 N T AH0 M AH0 T|IH1 N T AH0 M EY2 T
n approximate|AH0 P R AA1 K S AH0 M AH0 T|AH0 P R AA1 K S AH0 M EY2 T
n coordinate|K OW0 AO1 R D AH0 N AH0 T|K OW0 AO1 R D AH0 N EY2 T
n articulate|AA0 R T IH1 K Y AH0 L AH0 T|AA0 R T IH1 K Y AH0 L EY2 T
n subordinate|S AH0 B AO1 R D AH0 N AH0 T|S AH0 B AO1 R D AH0 N EY2 T
n syndicate|S IH1 N D IH0 K AH0 T|S IH1 N D IH0 K EY2 T
n animate|AE1 N AH0 M AH0 T|AE1 N AH0 M EY2 T
n wind|W IH1 N D|W AY1 N D
n tear|T IH1 R|T EH1 R
n sow|S AW1|S OW1
`;

interface Pair {
  noun: string[];
  verb: string[];
  usual: Part;
}

const table = new Map<string, Pair>();
for (const line of pairs.trim().split('\n')) {
  const [head = '', noun = '', verb = ''] = line.split('|');
  table.set(head.slice(2), {
    noun: parse(noun),
    verb: parse(verb),
    usual: head.startsWith('v') ? 'verb' : 'noun',
  });
}
/** -s forms of verbs with another stress or consonant: "it records", "the records". */
const inflected = new Map(
  [...table.keys()].map((word) => [
    word.endsWith('y') && word !== 'survey' && word !== 'relay'
      ? `${word.slice(0, -1)}ies`
      : word.endsWith('ss')
        ? `${word}es`
        : `${word}s`,
    word,
  ]),
);

const special: Record<string, (n: Neighbours) => string> = {
  read: (n) => {
    if (
      passive.has(n.before) ||
      (passive.has(n.before2) && /^(?:not|also|never|already|often)$/.test(n.before))
    )
      return 'R EH1 D';
    if (/^(?:he|she|it|who)$/.test(n.before)) return 'R EH1 D';
    const past =
      n.has('yesterday') ||
      n.has('ago') ||
      n.has('last') ||
      n.has('once') ||
      n.has('was') ||
      n.has('were') ||
      n.has('had');
    return past && /^(?:i|we|you|they|and|)$/.test(n.before) ? 'R EH1 D' : 'R IY1 D';
  },
  live: (n) => {
    const adjective =
      /^(?:music|show|shows|concert|concerts|stream|streams|streaming|broadcast|audience|performance|performances|coverage|video|videos|tv|television|event|events|bait|wire|ammunition|action|chat|update|updates|recording|album|animals|animal|entertainment|band|sports|feed|preview|demo)$/;
    if (adjective.test(n.after)) return 'L AY1 V';
    if (
      /^(?:a|an|the|went|go|goes|going|is|are|was|were|now|recorded|broadcast|streamed|watch|performed)$/.test(
        n.before,
      ) &&
      n.after !== 'in' &&
      n.after !== 'with'
    )
      return 'L AY1 V';
    return 'L IH1 V';
  },
  lives: (n) =>
    thirdPerson.has(n.before) ||
    (/^[A-Z]/.test(n.word) === false &&
      /^(?:in|at|on|here|there|alone|with|near|next)$/.test(n.after) &&
      !beforeNoun.has(n.before))
      ? 'L IH1 V Z'
      : beforeNoun.has(n.before) || /^(?:save|saved|saves|saving|lost|people's|lose|human)$/.test(n.before)
        ? 'L AY1 V Z'
        : 'L IH1 V Z',
  lead: (n) =>
    /^(?:pipe|pipes|paint|poisoning|pencil|acid|bullet|bullets|weight|weights|glass|shot|dust|ore)$/.test(
      n.after,
    ) ||
    (/^(?:of|with|contains|containing|like|molten)$/.test(n.before) &&
      !afterVerb.has(n.after) &&
      n.after !== '' &&
      /^(?:and|or|in|is|was)$/.test(n.after))
      ? 'L EH1 D'
      : 'L IY1 D',
  wound: (n) =>
    /^(?:up|down|around|through|back|its|tightly|round)$/.test(n.after) ? 'W AW1 N D' : 'W UW1 N D',
  bow: (n) =>
    /^(?:down|before|out|low|deeply)$/.test(n.after) ||
    beforeVerb.has(n.before) ||
    (/^(?:took|take|takes|taking|final)$/.test(n.before2) && n.before === 'a') ||
    n.before === 'final'
      ? 'B AW1'
      : 'B OW1',
  bows: (n) =>
    /^(?:down|before|out|low)$/.test(n.after) || thirdPerson.has(n.before) ? 'B AW1 Z' : 'B OW1 Z',
  close: (n) => {
    if (beforeVerb.has(n.before) && !/^(?:not|never|always|also|often|usually)$/.test(n.before))
      return 'K L OW1 Z';
    if (
      /^(?:to|by|friend|friends|call|calls|enough|look|range|quarters|attention|together|relationship|relative|relatives|second|behind|contact|eye|race|game|ties)$/.test(
        n.after,
      )
    )
      return 'K L OW1 S';
    if (
      /^(?:very|so|too|is|was|were|are|get|gets|got|getting|come|came|comes|stay|stayed|how|as|a|more|really|pretty|quite|fairly|stood|sat|keep|kept|hold|held|draw|drew|not)$/.test(
        n.before,
      )
    )
      return 'K L OW1 S';
    return n.before === 'the' || n.before === 'at'
      ? n.after === '' || n.after === 'of'
        ? 'K L OW1 Z'
        : 'K L OW1 S'
      : 'K L OW1 Z';
  },
  use: (n) =>
    n.after === 'of' ||
    partOfSpeech(n, 'verb') === 'noun' ||
    /^(?:it's|is|was|into|it's|actual|heavy|daily|personal|common|practical|easy|limited|water|drug|energy|memory)$/.test(
      n.before,
    )
      ? 'Y UW1 S'
      : 'Y UW1 Z',
  uses: (n) =>
    beforeNoun.has(n.before) || /^(?:various|common|possible)$/.test(n.before)
      ? 'Y UW1 S IH0 Z'
      : 'Y UW1 Z IH0 Z',
  used: (n) =>
    n.after === 'to' && !/^(?:is|was|are|were|be|been|being)$/.test(n.before) ? 'Y UW1 S T' : 'Y UW1 Z D',
  tears: (n) => (thirdPerson.has(n.before) ? 'T EH1 R Z' : 'T IH1 R Z'),
  minute: (n) =>
    (/^(?:very|so|too|in|most|extremely)$/.test(n.before) &&
      /^(?:detail|details|amount|amounts|quantities|particles|differences|traces|)$/.test(n.after) &&
      n.before !== 'in') ||
    /^(?:detail|details|amounts|quantities|particles|traces)$/.test(n.after)
      ? 'M AY0 N UW1 T'
      : 'M IH1 N AH0 T',
  polish: (n) =>
    /^P/.test(n.word) &&
    (n.before !== '' || /^(?:people|language|government|food|border|president|army|man|woman)$/.test(n.after))
      ? 'P OW1 L IH0 SH'
      : 'P AA1 L IH0 SH',
  bass: (n) =>
    /^(?:fishing|boat|lake|sea|largemouth|striped)$/.test(n.after) ||
    /^(?:sea|largemouth|striped|caught|fish)$/.test(n.before)
      ? 'B AE1 S'
      : 'B EY1 S',
  dove: (n) =>
    /^(?:he|she|they|we|i|it|who|and)$/.test(n.before) ||
    (/^(?:into|in|down|under|off|for)$/.test(n.after) && n.before !== 'the' && n.before !== 'a')
      ? 'D OW1 V'
      : 'D AH1 V',
  row: (n) =>
    /^(?:a|the)$/.test(n.before) && /^(?:over|about|between|with)$/.test(n.after) && n.before2 === 'had'
      ? 'R AW1'
      : 'R OW1',
  learned: (n) =>
    /^(?:a|very|the|my|most)$/.test(n.before) &&
    /^(?:man|woman|friend|scholar|society|professor|men)$/.test(n.after)
      ? 'L ER1 N IH0 D'
      : 'L ER1 N D',
  aged: (n) =>
    /^(?:the|an|my|his|her)$/.test(n.before) && !/^(?:between|from)$/.test(n.after)
      ? 'EY1 JH IH0 D'
      : 'EY1 JH D',
  blessed: (n) => (/^(?:the|a|of|every)$/.test(n.before) ? 'B L EH1 S IH0 D' : 'B L EH1 S T'),
  content: (n) =>
    /^(?:is|are|was|were|be|am|feel|felt|seems|seemed|quite|very|perfectly|i'm|he's|she's|we're|they're)$/.test(
      n.before,
    ) && /^(?:with|to|that|and|)$/.test(n.after)
      ? 'K AH0 N T EH1 N T'
      : 'K AA1 N T EH0 N T',
  resume: (n) =>
    /^(?:a|the|my|your|his|her|their|our)$/.test(n.before) ? 'R EH1 Z AH0 M EY2' : 'R IH0 Z UW1 M',
};

/** Phones of a heteronym in its place, or undefined for any other word. */
export function heteronym(word: string, n: Neighbours): string[] | undefined {
  const rule = special[word];
  if (rule) return parse(rule(n));
  const pair = table.get(word);
  if (pair) return partOfSpeech(n, pair.usual) === 'verb' ? pair.verb : pair.noun;
  const base = inflected.get(word);
  if (!base) return undefined;
  const own = table.get(base)!;
  const verb = thirdPerson.has(n.before) || (!beforeNoun.has(n.before) && afterVerb.has(n.after));
  return withS(verb ? own.verb : own.noun);
}
