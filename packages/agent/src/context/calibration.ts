import { statedWindow } from '@flotilla/protocol/context-overflow'

/** What the model's own answers show about our count of its tokens. */
export interface Calibration {
  /** The model's tokens per token that we count. */
  readonly ratio: number
  /**
   * Whether an answer has reported its usage. Until then a rejection contradicts our count, later it
   * contradicts the window.
   */
  readonly confirmed: boolean
}

export const freshCalibration: Calibration = { ratio: 1, confirmed: false }

/** A context window learned from a rejection, in tokens. */
export interface LearnedWindow {
  readonly tokens: number
  /** True when the provider stated the limit; otherwise it is an estimate below a rejected prompt. */
  readonly isStated: boolean
}

/** Bounds of the accepted ratio: no tokenizer differs more from ours, and a false report cannot take all room. */
export const ratioRange = { min: 0.2, max: 6 } as const
export const windowMinTokens = 2000
/** Smaller counts do not change the ratio: system prompt and tools outweigh the messages in them. */
const countedMinTokens = 200
const refusalFactor = 1.2

/** Adapts the ratio. The first count sets it; later a higher one applies at once, a lower one by half. Pure. */
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
  /** The window assumed for the rejected call. */
  readonly windowTokens: number
  /** What an earlier rejection has shown. */
  readonly learnedWindow: LearnedWindow | null
  readonly words: string
}

export interface Lesson {
  readonly calibration: Calibration
  readonly learnedWindow: LearnedWindow | null
}

/**
 * Pure. Learns from a rejection for length: takes the limit that the rejection states, or else assumes that our count
 * is too low or the window smaller. The next count then fills more of the window.
 */
export function learnFromOverflow(calibration: Calibration, call: RefusedCall): Lesson {
  const counted = Math.max(1, call.counted)
  const { ratio, confirmed } = calibration
  const stated = statedWindow(call.words)
  if (stated !== null) {
    const learnedWindow = { tokens: stated.windowTokens, isStated: true }
    const statedRatio = stated.promptTokens === null ? ratio : higher(ratio, stated.promptTokens / counted)
    const isNews = stated.windowTokens < call.windowTokens || statedRatio > ratio
    // If the stated limit was already known and the prompt was rejected anyway, our count is too low.
    return {
      calibration: { ratio: isNews ? statedRatio : higher(ratio, ratio * refusalFactor), confirmed },
      learnedWindow,
    }
  }
  const window = call.windowTokens
  const filling = higher(ratio * refusalFactor, window / counted)
  const countWasWrong = !confirmed && filling > ratio && counted * filling >= window
  if (countWasWrong) return { calibration: { ratio: filling, confirmed }, learnedWindow: call.learnedWindow }
  if (call.learnedWindow?.isStated === true) {
    // The window is never assumed smaller than the limit that was stated.
    const raised = { ratio: higher(ratio, ratio * refusalFactor), confirmed }
    return { calibration: raised, learnedWindow: call.learnedWindow }
  }
  // Our count was confirmed, or cannot be wrong by so much: the window is smaller than reported.
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
