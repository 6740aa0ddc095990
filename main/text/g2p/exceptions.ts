/** Words that the CMU dictionary lacks, or lists first with a reading that is not the usual one. */
import { parse } from '../arpabet.ts';

const table = `
i AY1
a AH0
ok OW1 K EY1
okay OW2 K EY1
live L IH1 V
in IH1 N
and AE1 N D
minute M IH1 N AH0 T
wound W UW1 N D
resume R IH0 Z UW1 M
mizuoto M IY2 Z UW0 OW1 T OW0
gif G IH1 F
gifs G IH1 F S
jpeg JH EY1 P EH2 G
mpeg EH1 M P EH2 G
json JH EY1 S AH0 N
yaml Y AE1 M AH0 L
toml T AA1 M AH0 L
covid K OW1 V IH0 D
emoji IH0 M OW1 JH IY0
emojis IH0 M OW1 JH IY0 Z
vram V IY1 R AE2 M
cuda K UW1 D AH0
mips M IH1 P S
uefi Y UW1 EH2 F IY0
captcha K AE1 P CH AH0
ikea AY0 K IY1 AH0
asean AE1 S IY0 AA2 N
uefa Y UW0 EY1 F AH0
fifa F IY1 F AH0
scotus S K OW1 T AH0 S
potus P OW1 T AH0 S
flotus F L OW1 T AH0 S
nimby N IH1 M B IY0
qwerty K W ER1 T IY0
lol L AA1 L
yolo Y OW1 L OW0
qwen K W EH1 N
llama L AA1 M AH0
llamas L AA1 M AH0 Z
openai OW1 P AH0 N EY1 AY1
vocoder V OW1 K OW2 D ER0
vocoders V OW1 K OW2 D ER0 Z
codec K OW1 D EH2 K
codecs K OW1 D EH2 K S
spectrogram S P EH1 K T R AH0 G R AE2 M
spectrograms S P EH1 K T R AH0 G R AE2 M Z
phoneme F OW1 N IY2 M
phonemes F OW1 N IY2 M Z
grapheme G R AE1 F IY2 M
tokenizer T OW1 K AH0 N AY2 Z ER0
tokenize T OW1 K AH0 N AY2 Z
normalizer N AO1 R M AH0 L AY2 Z ER0
quantization K W AA2 N T AH0 Z EY1 SH AH0 N
quantize K W AA1 N T AY2 Z
quantized K W AA1 N T AY2 Z D
parameterize P ER0 AE1 M AH0 T ER0 AY2 Z
hyperparameter HH AY2 P ER0 P ER0 AE1 M AH0 T ER0
chatbot CH AE1 T B AA2 T
chatbots CH AE1 T B AA2 T S
backend B AE1 K EH2 N D
frontend F R AH1 N T EH2 N D
github G IH1 T HH AH2 B
gitlab G IH1 T L AE2 B
npm EH1 N P IY1 EH1 M
sudo S UW1 D UW0
regex R EH1 JH EH2 K S
async EY1 S IH2 NG K
param P ER0 AE1 M
params P ER0 AE1 M Z
config K AH0 N F IH1 G
repo R IY1 P OW0
repos R IY1 P OW0 Z
dev D EH1 V
devs D EH1 V Z
admin AE1 D M IH2 N
unicode Y UW1 N IH0 K OW2 D
kubernetes K UW2 B ER0 N EH1 T IY0 Z
docker D AA1 K ER0
debian D EH1 B IY0 AH0 N
ubuntu UW0 B UW1 N T UW0
nginx EH1 N JH IH0 N EH1 K S
postgres P OW1 S T G R EH2 S
sqlite EH1 S K Y UW0 L AY2 T
mysql M AY1 EH1 S K Y UW1 EH1 L
numpy N AH1 M P AY2
pytorch P AY1 T AO2 R CH
tensorflow T EH1 N S ER0 F L OW2
nvidia EH0 N V IH1 D IY0 AH0
geforce JH IY1 F AO2 R S
tiktok T IH1 K T AA2 K
instagram IH1 N S T AH0 G R AE2 M
whatsapp W AH1 T S AE2 P
bluetooth B L UW1 T UW2 TH
touchpad T AH1 CH P AE2 D
trackpad T R AE1 K P AE2 D
vlog V L AA1 G
vlogs V L AA1 G Z
meme M IY1 M
memes M IY1 M Z
selfies S EH1 L F IY2 Z
crypto K R IH1 P T OW0
metaverse M EH1 T AH0 V ER2 S
paywall P EY1 W AO2 L
webinar W EH1 B IH0 N AA2 R
sriracha S IH0 R AA1 CH AH0
quinoa K IY1 N W AA0
acai AA2 S AA0 IY1
gnocchi N Y OW1 K IY0
hummus HH AH1 M AH0 S
kombucha K AH0 M B UW1 CH AH0
croissant K W AA0 S AA1 N
pho F AH1
brexit B R EH1 K S IH0 T
kyiv K IY1 V
nguyen W IH1 N
zhang ZH AA1 NG
xi SH IY1
joaquin W AA0 K IY1 N
hermione HH ER0 M AY1 AH0 N IY0
hmm HH M
mm M
mhm M HH M
shh SH
psst P S T
brr B R
ugh AH1 G
uh AH1
um AH1 M
nah N AE1
yup Y AH1 P
nope N OW1 P
wow W AW1
aww AO1
ooh UW1
ahem AH0 HH EH1 M
naive N AY0 IY1 V
cafe K AH0 F EY1
facade F AH0 S AA1 D
strasse SH T R AA1 S AH0
brulee B R UW0 L EY1
gruyere G R UW0 Y EH1 R
readme R IY1 D M IY2
vite V IY1 T
vitest V IY1 T EH2 S T
env EH1 N V
fiance F IY2 AA0 N S EY1
fiancee F IY2 AA0 N S EY1
cliche K L IY0 SH EY1
soupcon S UW1 P S AO2 N
voila V W AA0 L AA1
pinata P IY0 N Y AA1 T AH0
jalapeno HH AA2 L AH0 P EY1 N Y OW0
senor S IY0 N Y AO1 R
wizzy W IH1 Z IY0
peg P EH1 G
miz M IH1 Z
`;

export const exceptions: ReadonlyMap<string, string[]> = new Map(
  table
    .trim()
    .split('\n')
    .map((line) => {
      const at = line.indexOf(' ');
      return [line.slice(0, at), parse(line.slice(at + 1))] as const;
    }),
);

const letterTable = `A EY1|B B IY1|C S IY1|D D IY1|E IY1|F EH1 F|G JH IY1|H EY1 CH|I AY1|J JH EY1|K K EY1|L EH1 L|M EH1 M|N EH1 N|O OW1|P P IY1|Q K Y UW1|R AA1 R|S EH1 S|T T IY1|U Y UW1|V V IY1|W D AH1 B AH0 L Y UW2|X EH1 K S|Y W AY1|Z Z IY1`;

/** Names of the letters, American. */
export const letterNames: ReadonlyMap<string, string[]> = new Map(
  letterTable.split('|').map((entry) => [entry[0]!, parse(entry.slice(2))] as const),
);
