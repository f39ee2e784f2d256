/** Marks of chat templates around thinking and after a turn, which some servers leave in the words. */

/** The tags around thinking; upper and lower case are the same. */
const thinkingPairs: readonly (readonly [opening: string, closing: string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
  ['<seed:think>', '</seed:think>'],
  ['<mm:think>', '</mm:think>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|channel>thought', '<channel|>'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['<longcat_think>', '</longcat_think>'],
]

/** Marks that some models write before their words, or between thinking and words. */
const beginnings = [
  '<|START_RESPONSE|>',
  '<|START_TEXT|>',
  '<|begin_of_solution|>',
  '<|begin_of_box|>',
  '<|im_start|>assistant',
  '<|start_header_id|>assistant<|end_header_id|>',
  '<|assistant|>',
  '<start_of_turn>model',
]

/** Marks that end a turn. */
const ends = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|eot|>',
  '<|end|>',
  '<|return|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|END_RESPONSE|>',
  '<|END_TEXT|>',
  '<|END_OF_TURN_TOKEN|>',
  '<｜end▁of▁sentence｜>',
  '<end_of_turn>',
  '<turn|>',
  '<|end_of_solution|>',
  '<|end_of_box|>',
  '<|im:end|>',
  '[|endofturn|]',
  '<｜User｜>',
  '<|fim_pad|>',
  '<|user|>',
  '<|observation|>',
  '<eos>',
]
/** An end mark that is also HTML's closing tag for struck-through text. */
const sequenceEnd = '</s>'

const escaped = (marks: readonly string[]): string =>
  marks.map((mark) => mark.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')

const openings = thinkingPairs.map(([opening]) => opening)
const closings = thinkingPairs.map(([, closing]) => closing)
const closingByOpening = new Map(thinkingPairs.map(([opening, closing]) => [opening.toLowerCase(), closing]))

export const thinkingMark = new RegExp(
  `(?<opening>${escaped(openings)})|(?<closing>${escaped(closings)})`,
  'gi',
)
export const wordsBegin = new RegExp(String.raw`^\s*(?:${escaped(beginnings)})\n*`)
const endRun = new RegExp(String.raw`(?:(?:${escaped(ends)})\s*)+$`)
const endRunOfSequences = new RegExp(String.raw`(?:(?:${escaped([...ends, sequenceEnd])})\s*)+$`)
/** The number of characters at the end of a text that are searched for end marks. */
const endsMaxChars = 1000
const all = [...openings, ...closings, ...beginnings, ...ends, sequenceEnd].map((mark) => mark.toLowerCase())
const longest = Math.max(...all.map((mark) => mark.length))

/** Returns the thinking tag at the start of a text; null without a tag, `maybe` if the text may become one. Pure. */
export function openingAt(text: string): { readonly tag: string; readonly closing: string } | 'maybe' | null {
  const word = text.toLowerCase()
  for (const [tag, closing] of closingByOpening)
    if (word.startsWith(tag)) return { tag: text.slice(0, tag.length), closing }
  return openings.some((tag) => tag.toLowerCase().startsWith(word)) ? 'maybe' : null
}

/** Whether a text is the first part of a mark before the words, so that more of it must come first. Pure. */
export function mayBegin(text: string): boolean {
  return text !== '' && beginnings.some((mark) => mark.startsWith(text))
}

export function closingOf(opening: string): string {
  return closingByOpening.get(opening.toLowerCase()) ?? ''
}

const closingPatterns = new Map(
  thinkingPairs.map(([, closing]) => [closing, new RegExp(escaped([closing]), 'i')]),
)

/** Returns the index of the closing tag, -1 without one. Reads no further than the tag. Pure. */
export function closingAt(text: string, closing: string): number {
  const pattern = closingPatterns.get(closing)
  return pattern === undefined ? -1 : text.search(pattern)
}

/** Removes end marks from the end of a text. `closesLines`: an opening tag `s` came before the text. Pure. */
export function withoutEnds(text: string, { closesLines }: { readonly closesLines: boolean }): string {
  const at = Math.max(0, text.length - endsMaxChars)
  const run = closesLines || opensLine(text) ? endRun : endRunOfSequences
  return text.slice(0, at) + text.slice(at).replace(run, '')
}

export function opensLine(text: string): boolean {
  return text.includes('<') && /<s\b/i.test(text)
}

/** The characters that every mark begins with. */
const firsts = /[<[◁]/

/** False for most pieces of an answer, so that no pattern is tried on them. Pure. */
export function mayHaveMark(text: string): boolean {
  return firsts.test(text)
}

/** Returns the number of characters at the end of a text that are end marks or may become a mark. Pure. */
export function openEndChars(text: string): number {
  if (!mayHaveMark(text.slice(-longest)) && !text.slice(-endsMaxChars).trimEnd().endsWith('>')) return 0
  const from = Math.max(0, text.length - longest)
  let partial = 0
  for (let at = from; at < text.length; at++) {
    const tail = text.slice(at).toLowerCase()
    if (all.some((mark) => mark.length > tail.length && mark.startsWith(tail))) {
      partial = tail.length
      break
    }
  }
  const whole = text.slice(-endsMaxChars - partial, text.length - partial)
  return partial + whole.length - whole.replace(endRunOfSequences, '').length
}
