import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLong, spokenLength } from './pieces.ts';
import { sentences, wholeSentences } from './sentences.ts';
import { processorTime } from './testing.ts';

/** Each case is a text with `|` where a sentence must end. */
const cases = `
Hello there. | How are you?
Is it you? | Yes! | It is me.
The value of pi is 3.14. | It is known.
It costs 1,000.50 dollars. | That is a lot.
Version v2.0.1 is out. | Get it now.
It was 1999. | The year ended.
In 2019. | Then it was over.
Dr. Smith met Mr. Jones and Mrs. Brown. | They spoke.
Prof. Lee and Rev. King came. | We listened.
I like fruit, e.g. Apples and pears. | You too?
That is, i.e. Never. | Fine.
He lives in the U.S. Senate building. | It is large.
He lives in the U.S. | The house is large.
She moved to the U.K. | It rained.
At 9 a.m. Monday we start. | Be there.
We met at 5 p.m. | John left at six.
It is 9:30 p.m. EST now. | Good night.
Washington D.C. is far. | We fly.
See No. 5 on the list. | It is best.
No. | I will not.
She said no. | He left.
St. Louis is big. | St. Paul is not.
He lives on Main St. | The shop is near.
We met at Elm Dr. | It was late.
There were approx. 30 people. | All sang.
Apple Inc. released a phone. | It sold well.
He works at Acme Inc. | They make things.
Acme Corp. and Widget Ltd. merged. | Shares rose.
J. R. R. Tolkien wrote it. | C. S. Lewis read it.
George W. Bush spoke. | People came.
By A. Smith. | All rights reserved.
So am I. | We agree.
Eat vitamin C. | Eat more fruit.
The tank is 6 ft. | Then it leaks.
That was plan B. | Now plan C. | Go.
Visit https://example.com/a.b?c=d.e now. | Or later.
Go to www.example.com. | It is there.
Write to a.b@example.co.uk. | We answer.
Mail j.smith@example.com today. | Thanks.
Open file.txt and run main.py first. | Then stop.
Use Node.js or System.Text here. | Both work.
Well... maybe. | Not now.
Wait... I know. | Sure.
It faded… | Then silence.
It faded... | Then silence came.
"Really?" she asked. | "Yes," he said.
"Stop!" John said. | Nobody moved.
"What now?" I asked. | He shrugged.
"Go home." | She went.
He said "stop." | Then he left.
(It was late.) | We slept.
It was late (very late). | We slept.
It ended [see below]. | Next.
Known since 1990.[12] | It holds.
“Are you sure?” he asked. | “I am.”
‘Fine.’ | She nodded.
What?! | No way!! | Yes.
Really?? | Yes.
Hello!!! | Bye.
Yahoo! is a site. | So is another.
hello there. | how are you? | i am fine.
this is a test. | it has no capitals.
we use approx. five eggs. | then stir.
they sell pens, paper, etc. in town. | go there.
Pens, paper, etc. | They sell all.
1. Open the box. | Take the card.
2. Close it.
a. First point. | More.
IV. The fourth part. | It begins.
He paid $5.20. | She paid €3.
It rose 3.5%. | It fell.
It starts at 9:30. | Come early.
Send 5 kg. | Then 3 km. | Done.
About 6 ft. tall he was. | Tall.
He was born in Jan. 1990. | He is old.
On Nov. 30, 2026 it ends. | Good.
Fig. 3 shows it. | See p. 12 and pp. 3-5. | Good.
Smith et al. 2020 say so. | We agree.
Smith et al. found it. | We agree.
Martin Luther King Jr. spoke. | He was heard.
He has a Ph.D. | She has an M.D.
He has a Ph.D. in physics. | She does not.
The U.S.A. won. | All cheered.
Capt. Kirk and Lt. Uhura left. | The end.
Gen. Lee lost. | Gov. Brown won.
Mt. Everest is high. | Ft. Knox is not.
It is 20 °C. | Warm.
Ask the F.B.I. | They know.
你好。 | 再见。
今天3.5度。 | 很冷！ | 是吗？
"你好！" | 他说。
Really?Yes it is. | Good.
It ended.Then we left. | Good.
iPhone sales grew. | eBay did too. | iPads fell.
I bought one. | iPhones are nice.
Is that 5 p.m.? | Yes.
He left at 5 p.m.! | Wow.
vs. the world. | Ok.
Ali vs. Frazier was great. | Yes.
The D.A. said no. | He lost.
What is 2.5 x 3.5? | It is 8.75.
Room 12. | Door 4.
Turn to Sec. 4 now. | Good.
Is it here? | 5 of them are.
They won 3. | 5 were lost.
We saw it. | 3 people left.
It works. | @anna knows. | #fun
«Bonjour.» | Il part.
It is done.* | Next one.
*It is done.* | Next one.
**Bold.** | Text.
Go to the dept. of health. | They help.
C'est la vie. | Voilà.
Ms. Green left. | Messrs. Black and White stayed.
Sen. Smith (R. Ohio) voted. | It passed.
Hello, world
`;

describe('sentences', () => {
  for (const line of cases.trim().split('\n')) {
    it(line, () => {
      const expected = line.split('|').map((part) => part.trim());
      const joined = /[。！？][」”"]?$/.test(expected[0]!) ? expected.join('') : expected.join(' ');
      const text =
        line.startsWith('Really?Yes') || line.startsWith('It ended.Then') ? line.replace(' | ', ' ') : joined;
      const got = [...wholeSentences(text)].map((s) => s.text);
      if (line.startsWith('Really?Yes')) expect(got).toEqual(['Really?', 'Yes it is.', 'Good.']);
      else if (line.startsWith('It ended.Then')) expect(got).toEqual(['It ended.', 'Then we left.', 'Good.']);
      else expect(got).toEqual(expected);
    });
  }
});

describe('paragraphs and lines', () => {
  const split = (text: string) => [...wholeSentences(text)].map((s) => `${s.text}:${s.boundary}`);

  it('an empty line ends a paragraph', () => {
    expect(split('One\n\nTwo. Three\r\n\r\nFour')).toEqual([
      'One:paragraph',
      'Two.:sentence',
      'Three:paragraph',
      'Four:paragraph',
    ]);
    expect(split('One\n \t\nTwo')).toEqual(['One:paragraph', 'Two:paragraph']);
  });

  it('a line break ends a title, a list item, a line of verse', () => {
    expect(split('A Title\nThe text begins')).toEqual(['A Title:sentence', 'The text begins:paragraph']);
    expect(split('- one\n- two\n- three')).toHaveLength(3);
    expect(split('1. one\n2. two')).toEqual(['1. one:sentence', '2. two:paragraph']);
    expect(split('# Head\nBody')).toHaveLength(2);
  });

  it('a wrapped line goes on', () => {
    expect(split('The cat sat on\nthe mat. It slept.')).toEqual([
      'The cat sat on\nthe mat.:sentence',
      'It slept.:paragraph',
    ]);
    expect(split('This line was wrapped by an editor that counts columns and\nJohn read on.')).toHaveLength(
      1,
    );
    expect(split('bread,\nButter')).toHaveLength(1);
  });

  it('knows every kind of line end', () => {
    for (const end of ['\n', '\r', '\r\n', '\u2028', '\u0085', '\v'])
      expect(split(`One${end}Two`)).toHaveLength(2);
    for (const end of ['\n\n', '\r\r', '\r\n\r\n', '\u2029', '\f']) {
      expect(split(`One${end}Two`)[0]).toBe('One:paragraph');
    }
  });

  it('nothing comes of nothing', () => {
    for (const text of ['', ' ', '\n\n\n', ' \t ']) expect(split(text)).toEqual([]);
  });
});

describe('long sentences', () => {
  const long =
    'When the rain had stopped, the children ran out into the garden; the dog, who had slept all day, followed them to the ' +
    'old apple tree behind the house and barked at the birds until their mother called everybody in for supper and closed the door.';

  it('are cut at clause borders into pieces of bounded length', () => {
    const got = [...sentences(long)];
    expect(got.length).toBeGreaterThan(1);
    for (const { text } of got) expect(text.length).toBeLessThanOrEqual(121);
    expect(got[0]!.text.endsWith(';') || got[0]!.text.endsWith(',')).toBe(true);
    expect(got[0]!.boundary).toBe('clause');
    expect(got.at(-1)!.boundary).toBe('paragraph');
    expect(got.map((p) => p.text).join(' ')).toBe(long);
  });

  it('are cut between words where there is no clause, in pieces of like length', () => {
    const words = Array.from({ length: 40 }, () => 'river').join(' ');
    const got = [...sentences(words)];
    expect(got).toHaveLength(2);
    expect(got[0]!.boundary).toBe('words');
    expect(Math.abs(got[0]!.text.length - got[1]!.text.length)).toBeLessThan(30);
  });

  it('a number, an address and a title with its name stay whole', () => {
    const filler =
      'and so they went on walking along the river for a very long time with 1,234,567.89 reasons why Dr. Smith ';
    for (const { text } of sentences(filler.repeat(20))) {
      expect(text).not.toMatch(/Dr\.$/);
      expect(text).not.toMatch(/^Smith/);
    }
    const url = `https://example.com/${'path/'.repeat(40)}`;
    expect([...sentences(`See ${url} for more of it.`)].some((p) => p.text.includes(url))).toBe(true);
  });

  it('digits count as the words that they become', () => {
    expect(spokenLength(53)).toBe(5);
    expect([...sentences('12345 67890 12345 67890 12345 67890')].length).toBeGreaterThan(1);
  });

  it('text without any space is cut too, never inside a surrogate pair', () => {
    const got = [...sentences('😀'.repeat(3000))];
    expect(got.length).toBeGreaterThan(1);
    for (const { text } of got) expect(text).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
    expect([...sentences('字'.repeat(300))].length).toBeGreaterThan(5);
  });
});

describe('properties', () => {
  const nasty = fc.array(
    fc.constantFrom(
      'a',
      'B',
      '1',
      '.',
      '!',
      '?',
      '…',
      '"',
      ')',
      '(',
      ' ',
      '\n',
      '\r\n',
      '-',
      ',',
      '。',
      '字',
      'Dr.',
      'U.S.',
      '😀',
      '\ud800',
      '[1]',
      'http://a.b',
      '\u00a0',
    ),
    { maxLength: 80 },
  );

  it('pieces are slices in order and leave out white space only', () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 60 }), (parts, limit) => {
        const text = parts.join('');
        let at = 0;
        for (const p of sentences(text, limit)) {
          expect(p.text).toBe(text.slice(p.start, p.end));
          expect(p.text.trim()).not.toBe('');
          expect(text.slice(at, p.start).trim()).toBe('');
          expect(p.start).toBeGreaterThanOrEqual(at);
          at = p.end;
        }
        expect(text.slice(at).trim()).toBe('');
      }),
      { numRuns: 500 },
    );
  });

  it('is lazy', () => {
    const first = wholeSentences(`One. ${'Two. '.repeat(100_000)}`).next();
    expect(first.value).toMatchObject({ text: 'One.', start: 0, end: 4 });
  });

  it('500,000 characters of any kind take well under a second', () => {
    const n = 500_000;
    const texts = [
      'a'.repeat(n),
      '.'.repeat(n),
      'a] '.repeat(n / 3),
      '1'.repeat(n),
      '"'.repeat(n),
      'a.'.repeat(n / 2),
      '\n'.repeat(n),
      'Hello there, Mr. Smith. '.repeat(n / 24),
      'a '.repeat(n / 2),
      '?A'.repeat(n / 2),
      '（。'.repeat(n / 2),
      '['.repeat(n),
      'a.B/'.repeat(n / 4),
    ];
    for (const text of texts) {
      let count = 0;
      const time = processorTime(() => {
        for (const _ of sentences(text)) count++;
      });
      expect(count).toBeGreaterThanOrEqual(text.trim() === '' ? 0 : 1);
      expect(time, JSON.stringify(text.slice(0, 8))).toBeLessThan(1000);
    }
  });

  it('splitLong keeps a sentence that fits', () => {
    const sentence = { text: 'Short.', start: 7, end: 13, boundary: 'sentence' as const };
    expect([...splitLong(sentence)]).toEqual([sentence]);
  });
});
