import { number, power, sign, signed } from './number-rules.ts';
import { amount, cardinal, fraction, isCode } from './numbers.ts';
import { finalDot, type Rule, rule, tokenEnd } from './rule.ts';

/** Sign -> what one and several are called; without a second form both are alike. */
const table = `
km kilometer|kms kilometer|m meter|cm centimeter|mm millimeter|dm decimeter|nm nanometer|µm micrometer|μm micrometer|mi mile|yd yard,yards
ft foot,feet|in inch,inches|NM nautical mile
kg kilogram|g gram|mg milligram|µg microgram|μg microgram|mcg microgram|t ton|lb pound|lbs pound|oz ounce
l liter|L liter|ml milliliter|mL milliliter|cl centiliter|dl deciliter|gal gallon|qt quart|pt pint|tsp teaspoon|tbsp tablespoon
s second|sec second|secs second|ms millisecond|µs microsecond|μs microsecond|ns nanosecond|min minute|mins minute|h hour|hr hour|hrs hour|yr year|yrs year|wk week|wks week|mo month|mos month
Hz hertz,hertz|kHz kilohertz,kilohertz|MHz megahertz,megahertz|GHz gigahertz,gigahertz|THz terahertz,terahertz|rpm R P M,R P M|bpm beats per minute,beats per minute|fps frames per second,frames per second|dpi D P I,D P I|ppm parts per million,parts per million
B byte|kB kilobyte|KB kilobyte|MB megabyte|GB gigabyte|TB terabyte|PB petabyte|KiB kibibyte|MiB mebibyte|GiB gibibyte|TiB tebibyte|kbit kilobit|Mbit megabit|Gbit gigabit|Gb gigabit|Mb megabit
bps bits per second,bits per second|kbps kilobits per second,kilobits per second|Kbps kilobits per second,kilobits per second|Mbps megabits per second,megabits per second|Gbps gigabits per second,gigabits per second
mph mile per hour,miles per hour|kph kilometer per hour,kilometers per hour|kmh kilometer per hour,kilometers per hour|mpg mile per gallon,miles per gallon|kn knot|kt knot|kts knot
W watt|mW milliwatt|kW kilowatt|MW megawatt|GW gigawatt|TW terawatt|Wh watt hour|kWh kilowatt hour|MWh megawatt hour|GWh gigawatt hour|TWh terawatt hour
V volt|mV millivolt|kV kilovolt|mA milliamp|mAh milliamp hour|Ah amp hour|Ω ohm|kΩ kilohm|MΩ megohm|µF microfarad|nF nanofarad|pF picofarad
J joule|kJ kilojoule|MJ megajoule|cal calorie|kcal kilocalorie|eV electron volt|keV kilo electron volt|MeV mega electron volt|GeV giga electron volt
Pa pascal|hPa hectopascal|kPa kilopascal|MPa megapascal|psi P S I,P S I|mbar millibar|atm atmosphere|N newton|kN kilonewton|Nm newton meter|hp horsepower,horsepower
dB decibel|dBA decibel|px pixel|MP megapixel|lm lumen|lx lux,lux|cd candela|ha hectare|ac acre|mol mole|mmol millimole|cc C C,C C|sq square,square
°C degree Celsius,degrees Celsius|℃ degree Celsius,degrees Celsius|°F degree Fahrenheit,degrees Fahrenheit|℉ degree Fahrenheit,degrees Fahrenheit|° degree
`;

interface Unit {
  one: string;
  many: string;
}

const units = new Map<string, Unit>();
for (const entry of table.trim().split(/[\n|]/)) {
  const at = entry.indexOf(' ');
  const [one = '', many = `${one}s`] = entry.slice(at + 1).split(',');
  units.set(entry.slice(0, at), { one, many });
}

const quote = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const names = [...units.keys()]
  .sort((a, b) => b.length - a.length)
  .map(quote)
  .join('|');

/** Words and letters that are units only right behind the number ("5in") or with a period ("5 in."). */
const needTouch = new Set('in pt ac mo cd ha'.split(' '));
/** "a 5-km run": the singular after a hyphen. */
const hyphenated = /^(?:in|ft|mi|km|m|mm|cm|kg|lb|oz|hr|min|yr|MP|GB|TB|W|V|mph|L|l|ml|Hz|kHz|MHz|GHz)$/;

const per: Record<string, string> = {
  s: 'second',
  sec: 'second',
  min: 'minute',
  h: 'hour',
  hr: 'hour',
  hour: 'hour',
  d: 'day',
  day: 'day',
  wk: 'week',
  week: 'week',
  mo: 'month',
  month: 'month',
  yr: 'year',
  year: 'year',
  ms: 'millisecond',
  kg: 'kilogram',
  g: 'gram',
  l: 'liter',
  L: 'liter',
  ml: 'milliliter',
  mL: 'milliliter',
  dl: 'deciliter',
  m: 'meter',
  m2: 'square meter',
  'm²': 'square meter',
  'm³': 'cubic meter',
  m3: 'cubic meter',
  'cm²': 'square centimeter',
  'km²': 'square kilometer',
  's²': 'second squared',
  km: 'kilometer',
  mi: 'mile',
  mile: 'mile',
  lb: 'pound',
  oz: 'ounce',
  gal: 'gallon',
  px: 'pixel',
  GB: 'gigabyte',
  MB: 'megabyte',
  kWh: 'kilowatt hour',
  person: 'person',
  capita: 'capita',
  night: 'night',
  unit: 'unit',
  token: 'token',
};
const perSource = `/(${Object.keys(per)
  .sort((a, b) => b.length - a.length)
  .join('|')})${tokenEnd}`;

const exponent = '([²³]|\\^[23]|(?<=m|ft|mi|in)[23])?';

function unitName(name: string, raised: string | undefined, one: boolean): string {
  const unit = units.get(name)!;
  const said = one ? unit.one : unit.many;
  if (raised === undefined) return said;
  const three = raised.includes('3') || raised === '³';
  if (name === 's' || name === 'sec') return `${said} ${power(three ? '3' : '2')}`;
  return `${three ? 'cubic' : 'square'} ${said}`;
}

function isOne(text: string): boolean {
  return text === '1';
}

const plainNumber = (text: string) => (isCode(text) && !text.includes('.') ? cardinal(text) : amount(text));

/** "5 sq ft" */
const squares: Record<string, string> = {
  ft: 'feet',
  in: 'inches',
  m: 'meters',
  mi: 'miles',
  km: 'kilometers',
  yd: 'yards',
  yds: 'yards',
};

export const unitRules: readonly Rule[] = [
  // 50%, 3.5 %, 5-10%
  rule(`${signed} ?%`, 'u', (m) => `${sign(m[1])}${plainNumber(m[2]!)} percent`),
  rule(
    `(${number}) ?%? ?[-–—] ?(${number}) ?%`,
    'u',
    (m) => `${plainNumber(m[1]!)} to ${plainNumber(m[2]!)} percent`,
  ),
  rule(`${signed} ?‰`, 'u', (m) => `${sign(m[1])}${plainNumber(m[2]!)} per mille`),
  // 5'10", 6′
  rule(
    `(\\d{1,2})['′] ?(\\d{1,2})(?:["″]|'')`,
    'u',
    (m) =>
      `${cardinal(m[1]!)} ${m[1] === '1' ? 'foot' : 'feet'} ${cardinal(m[2]!)} ${m[2] === '1' ? 'inch' : 'inches'}`,
  ),
  rule(`(${number})′`, 'u', (m) => `${plainNumber(m[1]!)} ${isOne(m[1]!) ? 'foot' : 'feet'}`),
  rule(`(${number})(″|")(?![\\p{L}\\p{N}])`, 'u', (m, context) => {
    const opened = context.text.slice(Math.max(0, m.index - 300), m.index).split('"').length % 2 === 0;
    return m[2] === '"' && opened ? undefined : `${plainNumber(m[1]!)} ${isOne(m[1]!) ? 'inch' : 'inches'}`;
  }),
  // 40° 26' N is rare; 20 °C, 5 m², 60 km/h, 3-5 km
  rule(
    `${signed} ?sq\\.? ?(ft|in|mi|m|km|yds?)\\.?${tokenEnd}`,
    'u',
    (m, context, end) =>
      `${sign(m[1])}${plainNumber(m[2]!)} square ${squares[m[3]!]!}${finalDot(context, end)}`,
  ),
  rule(`(${number}) ?[-–—] ?(${number})(\\s?)(${names})${exponent}(?:${perSource})?${tokenEnd}`, 'u', (m) => {
    const [, low, high, gap, name, raised, over] = m;
    if (!isUnit(name!, gap!, high!, false)) return undefined;
    return `${plainNumber(low!)} to ${plainNumber(high!)} ${unitName(name!, raised, false)}${perOf(over)}`;
  }),
  rule(`(${number}) ?[x×] ?(${number})(?: ?[x×] ?(${number}))?(\\s?)(${names})${tokenEnd}`, 'u', (m) => {
    if (!isUnit(m[5]!, m[4]!, m[2]!, false)) return undefined;
    const sides = m.slice(1, 4).filter((side) => side !== undefined);
    return `${sides.map(plainNumber).join(' by ')} ${unitName(m[5]!, undefined, false)}`;
  }),
  rule(`(\\d{1,3})/(\\d{1,3})(\\s?)(${names})${tokenEnd}`, 'u', (m) =>
    isUnit(m[4]!, m[3]!, m[2]!, false) && Number(m[2]) > 0
      ? `${fraction(m[1]!, m[2]!)} ${units.get(m[4]!)!.one}`
      : undefined,
  ),
  rule(
    `${signed}([\\s-]?)(${names})${exponent}(?:${perSource})?(\\.)?(?![\\p{L}\\p{N}]|\\.\\p{L})`,
    'u',
    (m, context, end) => {
      const [, mark, value, gap, name, raised, over, dot] = m;
      if (!isUnit(name!, gap!, value!, dot !== undefined)) return undefined;
      const one = gap === '-' || isOne(value!);
      const period = dot === undefined ? '' : finalDot(context, end) || (abbreviated.test(name!) ? '' : ' .');
      return `${sign(mark)}${plainNumber(value!)} ${unitName(name!, raised, one)}${perOf(over)}${period}`;
    },
  ),
];

/** Units that are written with a period of their own. */
const abbreviated = /^(?:in|ft|lbs?|oz|yd|mi|gal|qt|pt|hrs?|mins?|secs?|yrs?|wks?|mos?|tsp|tbsp)$/;

function perOf(name: string | undefined): string {
  return name === undefined ? '' : ` per ${per[name]!}`;
}

function isUnit(name: string, gap: string, value: string, period: boolean): boolean {
  if (gap === '-') return hyphenated.test(name);
  // "7B" is the size of a model, "7 B" are bytes.
  if (name === 'B') return gap !== '';
  // "1990s" is a decade.
  if (name === 's' && gap === '') return !/^\d{3}0$/.test(value);
  return gap === '' || period || !needTouch.has(name);
}

/** "/hour" after an amount or a unit. */
export const perRule: Rule = rule(perSource, 'u', (m, context) =>
  /^[$£€¥]?[\d,.]/.test(context.before) ||
  /^(?:dollars?|requests?|req|tokens?|words?|samples?|frames?|miles?|beats|calls?|people|euros?|pounds?)$/.test(
    context.before,
  )
    ? `per ${per[m[1]!]!}`
    : undefined,
);
