import { statedWindow } from '@flotilla/protocol/context-overflow'

/** What a model's own answers have taught about our count of its tokens. */
export interface Calibration {
  /** The model's tokens for each that we count. */
  readonly ratio: number
  /** Whether an answer has told its usage; until then a refusal speaks against our count, later against the window. */
  readonly confirmed: boolean
}

export const freshCalibration: Calibration = { ratio: 1, confirmed: false }

/** A window that a refusal has shown, tokens. */
export interface LearnedWindow {
  readonly tokens: number
  /** In the provider's own words; else it is our guess, below a prompt that was refused. */
  readonly isStated: boolean
}

/** Bounds of what is believed: no tokenizer is further from ours, and nobody can talk us out of all room. */
export const ratioRange = { min: 0.2, max: 6 } as const
export const windowMinTokens = 2000
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
  return { ratio: calibration.confirmed ? ratio : seen, confirmed: true }
}

export interface RefusedCall {
  readonly counted: number
  /** As it was believed to be. */
  readonly windowTokens: number
  /** What a refusal has shown before. */
  readonly learnedWindow: LearnedWindow | null
  readonly words: string
}

export interface Lesson {
  readonly calibration: Calibration
  readonly learnedWindow: LearnedWindow | null
}

/**
 * Pure. From a refusal because of length: the limit in it where it states one, which is believed as it stands, else what
 * must be true for it to be refused. What is learned makes the next count fill more of the window.
 */
export function learnFromOverflow(calibration: Calibration, call: RefusedCall): Lesson {
  const counted = Math.max(1, call.counted)
  const { ratio, confirmed } = calibration
  const told = statedWindow(call.words)
  if (told !== null) {
    const learnedWindow = { tokens: told.windowTokens, isStated: true }
    const toldRatio = told.promptTokens === null ? ratio : higher(ratio, told.promptTokens / counted)
    const isNews = told.windowTokens < call.windowTokens || toldRatio > ratio
    // A limit that was known already did not help: then it is our count that is too low.
    return {
      calibration: { ratio: isNews ? toldRatio : higher(ratio, ratio * refusalFactor), confirmed },
      learnedWindow,
    }
  }
  const window = call.windowTokens
  const filling = higher(ratio * refusalFactor, window / counted)
  const countWasWrong = !confirmed && filling > ratio && counted * filling >= window
  if (countWasWrong) return { calibration: { ratio: filling, confirmed }, learnedWindow: call.learnedWindow }
  if (call.learnedWindow?.isStated === true) {
    // Whoever stated a limit is not taken for less than it.
    const raised = { ratio: higher(ratio, ratio * refusalFactor), confirmed }
    return { calibration: raised, learnedWindow: call.learnedWindow }
  }
  // Our count has been right so far, or is wrong beyond belief: then the window is smaller than we were told.
  const narrower = Math.floor(Math.min(window, counted * ratio) * 0.9)
  const tokens = Math.max(windowMinTokens, narrower)
  return { calibration, learnedWindow: { tokens, isStated: false } }
}

function boundRatio(ratio: number): number {
  return Math.min(ratioRange.max, Math.max(ratioRange.min, ratio))
}

function higher(ratio: number, other: number): number {
  return boundRatio(Math.max(ratio, other))
}
