/** What a model's own answers have taught about our count of its tokens. */
export interface Calibration {
  /** The model's tokens for each that we count. */
  readonly ratio: number
  /** Whether an answer has told its usage; until then a refusal speaks against our count, later against the window. */
  readonly confirmed: boolean
  /** Smallest window that a refusal has shown, tokens; null for none. */
  readonly windowTokens: number | null
}

export const freshCalibration: Calibration = { ratio: 1, confirmed: false, windowTokens: null }

/** Bounds of what is believed: no tokenizer is further from ours, and nobody can talk us out of all room. */
export const ratioRange = { min: 0.2, max: 6 } as const
export const windowMinTokens = 2000
const windowMaxTokens = 20_000_000
/** Less than this says too little: the frame weighs more than the words. */
const countedMinTokens = 200
const refusalFactor = 1.2

/** Pure. Too low a count is mended at once, too high a one by half each time. */
export function learnFromUsage(
  calibration: Calibration,
  call: { readonly counted: number; readonly told: number },
): Calibration {
  if (call.counted < countedMinTokens || !(call.told > 0)) return calibration
  const seen = boundRatio(call.told / call.counted)
  const ratio = seen >= calibration.ratio ? seen : calibration.ratio + (seen - calibration.ratio) / 2
  return { ...calibration, ratio: calibration.confirmed ? ratio : seen, confirmed: true }
}

/**
 * Pure. From a refusal because of length: the numbers in it where it has some, else what must be true for it to be
 * refused. What is learned always makes the next count fill more of the window.
 */
export function learnFromOverflow(
  calibration: Calibration,
  call: { readonly counted: number; readonly windowTokens: number; readonly words: string },
): Calibration {
  const counted = Math.max(1, call.counted)
  const fillOf = (one: Calibration): number =>
    (counted * one.ratio) / lower(one.windowTokens, call.windowTokens)
  const believed = believeNumbers(calibration, counted, readOverflow(call.words))
  if (fillOf(believed) >= 1 && fillOf(believed) > fillOf(calibration)) return believed
  const window = lower(believed.windowTokens, call.windowTokens)
  const ratio = higher(believed.ratio * refusalFactor, window / counted)
  const countWasWrong = !calibration.confirmed && ratio > calibration.ratio && counted * ratio >= window
  if (countWasWrong) return { ...believed, ratio }
  // Our count has been right so far, or is wrong beyond belief: then the window is smaller than we were told.
  const narrower = Math.floor(lower(window, counted * calibration.ratio) * 0.9)
  return { ...believed, windowTokens: Math.max(windowMinTokens, narrower) }
}

function believeNumbers(calibration: Calibration, counted: number, told: ToldOverflow | null): Calibration {
  if (told === null) return calibration
  const windowTokens = lower(calibration.windowTokens, told.windowTokens)
  if (told.promptTokens === null) return { ...calibration, windowTokens }
  return { ...calibration, ratio: higher(calibration.ratio, told.promptTokens / counted), windowTokens }
}

export interface ToldOverflow {
  readonly windowTokens: number
  readonly promptTokens: number | null
}

/** Each row is how some provider says it; the named groups are what it tells. */
const overflowForms: readonly RegExp[] = [
  // OpenAI, vLLM: "maximum context length is 8192 tokens. However, your messages resulted in 10050 tokens"
  /maximum context length is (?<window>[\d,]+) tokens(?:[^\d]{1,80}(?<prompt>[\d,]+) tokens)?/i,
  // Anthropic: "prompt is too long: 208310 tokens > 200000 maximum"
  /too long: (?<prompt>[\d,]+) tokens > (?<window>[\d,]+)/i,
  // Google: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)"
  /token count \(?(?<prompt>[\d,]+)\)? exceeds the maximum[^\d]{1,60}(?<window>[\d,]+)/i,
  // llama.cpp: "the request exceeds the available context size (8192 tokens)"
  /context (?:size|window|length)[^\d]{0,40}(?<window>[\d,]+)/i,
]

/** Pure. Null when the words hold no number that could be a window. */
export function readOverflow(words: string): ToldOverflow | null {
  for (const form of overflowForms) {
    const groups = form.exec(words)?.groups
    if (!groups) continue
    const windowTokens = numberIn(groups['window'])
    const promptTokens = numberIn(groups['prompt'])
    if (windowTokens === null || windowTokens < windowMinTokens || windowTokens > windowMaxTokens) return null
    const plausible = promptTokens !== null && promptTokens > windowTokens && promptTokens < windowTokens * 50
    return { windowTokens, promptTokens: plausible ? promptTokens : null }
  }
  return null
}

function numberIn(text: string | undefined): number | null {
  if (text === undefined) return null
  const value = Number(text.replaceAll(',', ''))
  return Number.isSafeInteger(value) ? value : null
}

function boundRatio(ratio: number): number {
  return Math.min(ratioRange.max, Math.max(ratioRange.min, ratio))
}

function higher(ratio: number, other: number): number {
  return boundRatio(Math.max(ratio, other))
}

function lower(known: number | null, other: number): number {
  return known === null ? other : Math.min(known, other)
}
