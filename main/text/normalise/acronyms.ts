import { amount, cardinal, digitByDigit, isCode, pluralOf, year } from './numbers.ts';
import { type Context, type Rule, rule, spell } from './rule.ts';
import { isPronounceable, splitCase } from './spelling.ts';

const set = (words: string) => new Set(words.trim().split(/\s+/));

/** Capitals that are said as a word. */
const asWords = set(`
  nasa nato unesco unicef opec aids laser radar scuba jpeg gif ram rom pin sim lan wan wifi ikea captcha covid sars fifa
  uefa nafta ascii basic json yaml toml crud nasdaq darpa swat potus scotus flotus lego midi epcot nascar ok lol asap
  zip raid bios cuda lora mips sap osha nimby yolo navy asean interpol unix linux sonar taser modem gestapo nafta dreamers
  oscar emmy fema hipaa cobra erisa snap wic mensa juul nerf fubar snafu qwerty soweto benelux cern esa fiat saab`);
/** Capitals that are letters although the dictionary knows a word of that spelling. */
const asLetters = set(`
  it us am pm uk eu un ai id tv pc ceo cto cfo coo hr pr ir er or ad bc ce ac dc ap cd dvd vip mri ct er icu od os io ui ux
  ip iq eq ex gm gp ba bs ma ms md mba dna rna atm att pta sos rv sat act gre who wto imf fed cia fbi nsa ira irs usa usb
  hiv ivf ufo url uri sql api sdk ide gpu cpu tpu ssd hdd fps rpg dj mc mp mvp nba nfl nhl mlb aa aaa la ny ca de et al ed
  bp pa ph pi po ps tb td ti ta va vi wa wi mi ma me ia il in oh ios dm pm ot pt st bbc abc nbc cbs cnn hbo eta
  ada asl esl gps lcd led oled pdf png nda ngo dot cad cam cv gdp gmo gop hmo ipo isp kpi llm nlp tts asr stt rtf vae gan
  rnn cnn lstm moe sft ppo dpo tdd bdd cms crm erp seo b2b sms mms nfc rfid vpn dns ssh ssl tls tcp udp http html css xml
  csv tsv`);
/** Letters in a mixed text, words where everything is in capitals. */
const alsoWords = set('it us am or who act in me oh ad ex dot cam la ma pa et de gre sat');
/** Short words that people put in capitals for emphasis. */
const emphasised = set(`
  a an and are as at be but by can did do does for get go had has have he her him his how if i in is its let may my new no
  not now of off oh on one only our out over own put said say see she so than that the their them then they this to too two
  up use very was way we were what when where which why will with yes you your all any big day end far few good here just
  more most much must never old read same some stop such sure tell time try wait want well work best free help keep know
  last like live long look love made make many need next none open play real save sale show six ten take used want wow yet
  hot buy win war man men day run top red set yes bad fun hey`);
/** Letter names with a twist. */
const special: Record<string, string> = {
  ieee: 'I triple E',
  aaa: 'triple A',
  naacp: 'N double A C P',
  ncaa: 'N C double A',
  jpg: 'jay peg',
  sql: 'S Q L',
  mpeg: 'M peg',
  wysiwyg: 'wizzy wig',
  cdrom: 'C D rom',
  www: 'W W W',
};

/** What a token in capitals says: the word, or its letters. */
function readCapitals(token: string, context: Context): string {
  const lower = token.toLowerCase();
  if (special[lower]) return special[lower];
  if (token.length === 1) return token;
  if (asWords.has(lower)) return lower;
  if (context.shouting && alsoWords.has(lower)) return lower;
  if (asLetters.has(lower)) return spell(token);
  if (emphasised.has(lower)) return lower;
  if (token.length <= 3 && !context.shouting) return spell(token);
  if (context.isWord(lower) && /[aeiouy]/.test(lower)) return lower;
  return isPronounceable(token) ? lower : spell(token);
}

/** Digits inside a name: A320 "three twenty", RTX 4090 "forty ninety", COVID-19. */
function readDigits(digits: string): string {
  if (isCode(digits)) return digitByDigit(digits);
  if (digits.length === 3 && !digits.endsWith('00')) return year(digits);
  if (digits.length === 4 && !digits.endsWith('000')) return year(digits);
  return digits.length > 6 ? digitByDigit(digits) : cardinal(digits);
}

/** The parts of a token that mixes letters with digits or hyphens: GPT-4, H2O, x86, 3D, MP3s. */
function readMixed(token: string, context: Context): string {
  const said: string[] = [];
  for (const chunk of token.split(/[-–‑_.]/)) {
    // LLaMA
    const parts =
      chunk.length > 3 && context.isWord(chunk.toLowerCase()) ? [chunk.toLowerCase()] : splitCase(chunk);
    for (const part of parts) {
      if (/^\d/.test(part)) said.push(readDigits(part));
      else if (/^\p{Lu}{2,3}$/u.test(part) && !asWords.has(part.toLowerCase())) said.push(spell(part));
      else said.push(readPart(part, context));
    }
  }
  // MP3s
  if (/\ds$/.test(token) && said.length > 1) said.splice(-2, 2, pluralOf(said[said.length - 2]!));
  return said.join(' ');
}

function readPart(part: string, context: Context): string {
  const upper = /^\p{Lu}+$/u.test(part);
  if (part.length === 1) return part.toUpperCase();
  if (upper) return readCapitals(part, context);
  const lower = part.toLowerCase();
  if (/^\p{Lu}/u.test(part) || lower.length > 3) return /[aeiouy]/.test(lower) ? lower : spell(part);
  return context.isWord(lower) && lower.length > 2 ? lower : spell(part);
}

export const acronymRules: readonly Rule[] = [
  // C++, C#, F#, .NET
  rule('([A-Za-z])\\+\\+', 'u', (m) => `${m[1]!.toUpperCase()} plus plus`),
  rule('([CFJ])#(?![\\p{L}\\p{N}])', 'u', (m) => `${m[1]!} sharp`),
  rule('\\.NET(?![\\p{L}\\p{N}])', 'u', () => 'dot net'),
  // H.264
  rule('(\\p{Lu})\\.(\\d{2,4})(?![\\p{L}\\p{N}.])', 'u', (m) => `${m[1]!} ${readDigits(m[2]!)}`),
  // CO₂, H₂SO₄
  rule('(?:\\p{Lu}\\p{Ll}?[₀-₉]{0,3}){1,10}(?<=[₀-₉].{0,12})(?![\\p{L}\\p{N}])', 'u', (m) =>
    (m[0].match(/[A-Z]|[a-z]|[₀-₉]+/g) ?? [])
      .map((part) =>
        /[₀-₉]/.test(part)
          ? cardinal([...part].map((char) => '₀₁₂₃₄₅₆₇₈₉'.indexOf(char)).join(''))
          : part.toUpperCase(),
      )
      .join(' '),
  ),
  // mc²
  rule('[a-z]{2,3}(?=[²³])', 'u', (m) => spell(m[0])),
  // 1-800-style codes in letters and digits of some length are spelled: 3fa85f64-5717
  rule(
    '(?=[0-9a-fA-F-]{0,60}\\d)(?=[0-9-]{0,60}[a-fA-F])[0-9a-fA-F]{6,64}(?:-[0-9a-fA-F]{3,12}){0,6}(?![\\p{L}\\p{N}])',
    'u',
    (m) => {
      const switches = m[0].match(/\d[a-fA-F]|[a-fA-F]\d/g)?.length ?? 0;
      if (switches < 3 || m[0].length > 64) return undefined;
      return [...m[0].replaceAll('-', '')]
        .map((char) => (/\d/.test(char) ? amount(char) : char.toUpperCase()))
        .join(' ');
    },
  ),
  // PDFs, CEOs, URL's
  rule("(\\p{Lu}{2,6})(?:['’]?s)(?![\\p{L}\\p{N}'’])", 'u', (m, context) => {
    const said = readCapitals(m[1]!, context);
    if (/^(?:\p{Lu} )*\p{Lu}$/u.test(said) || / \p{Lu}$/u.test(said)) return `${said}'s`;
    return m[0].includes("'") || m[0].includes('’') ? `${said}'s` : pluralWord(said);
  }),
  // FBI, NASA, AT&T
  rule('(\\p{Lu}{1,3})&(\\p{Lu}{1,3})(?![\\p{L}\\p{N}])', 'u', (m) => `${spell(m[1]!)} and ${spell(m[2]!)}`),
  rule("\\p{Lu}{2,}(?![\\p{L}\\p{N}'’]|[-–]\\p{N}|&\\p{L})", 'u', (m, context) =>
    readCapitals(m[0], context),
  ),
  // GPT-4, COVID-19, F-16, H2O, 3D, x86
  rule(
    '(?!\\p{Ll}{2,}[-‑]\\d{4}|to[-‑])\\p{L}{1,20}[-‑]\\d{1,6}(?:[-‑.]?\\p{L}{0,6}\\d{0,4})(?![\\p{L}\\p{N}])',
    'u',
    (m, context) => readMixed(m[0], context),
  ),
  rule('\\d{1,6}[-‑]?\\p{L}{1,12}\\d{1,6}(?:\\p{L}|\\d){0,12}(?![\\p{L}\\p{N}])', 'u', (m, context) =>
    readMixed(m[0], context),
  ),
  rule('\\p{L}{1,12}\\d[\\p{L}\\d]{0,20}(?:-[\\p{L}\\d]{1,12}){0,3}(?![\\p{L}\\p{N}])', 'u', (m, context) =>
    readMixed(m[0], context),
  ),
  rule('\\d{1,9}\\p{L}[\\p{L}\\d]{0,20}(?![\\p{L}\\p{N}])', 'u', (m, context) => readMixed(m[0], context)),
  // T-shirt, e-mail, X-ray, AI-powered
  rule('(?=\\p{L}-|\\p{Lu}{2,6}-)\\p{L}{1,6}(?:-\\p{L}+)+', 'u', (m, context) => {
    const parts = m[0].split('-');
    if (parts.some((part) => part.length === 1 && part === parts[1] && parts.length > 3)) return undefined;
    // "a-b", "I-beam": letters; "a-while" is a typo for two words.
    return parts
      .map((part) => (part.length === 1 || /^\p{Lu}{2,}$/u.test(part) ? readPart(part, context) : part))
      .join(' ');
  }),
  // iPhone, YouTube, GitHub
  rule("\\p{L}{0,30}\\p{Ll}\\p{Lu}\\p{L}{0,40}('s)?(?![\\p{N}])", 'u', (m, context) => {
    const word = m[0].replace(/'s$/, '');
    if (asLetters.has(word.toLowerCase())) return spell(word) + (m[1] ?? '');
    if (context.isWord(word.toLowerCase()) || /^(?:Mc|Mac|De|Di|La|Le|Van|Fitz|O)\p{Lu}\p{Ll}+$/u.test(word))
      return m[0].toLowerCase();
    return (
      splitCase(word)
        .map((part) => readPart(part, context))
        .join(' ') + (m[1] ?? '')
    );
  }),
];

function pluralWord(word: string): string {
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
}
