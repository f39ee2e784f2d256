import type { Clock } from '@flotilla/protocol/clock'
import { oneLine, singleLine } from './color.ts'
import type { Color } from './color.ts'
import { formatDuration } from './format.ts'
import type { TextSink } from './text-sink.ts'

/** Shows the progress of long work: a spinner at a terminal, plain lines elsewhere. */
export interface Progress {
  /** Starts a new step; the step before it is done. */
  step(label: string): void
  /** Ends the work successfully: prints the last step with its time. */
  done(label?: string): void
  /** Ends the work as failed: the step stays visible. */
  fail(): void
  /** Marks a step as failed with the reason; other work continues in its place. */
  failed(label: string, why: string): void
  /** Clears the spinner's line before other output. */
  pause(): void
  /** Whether a step is under way. */
  isShown(): boolean
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 90
const lineColumnsMax = 100

export interface ProgressOptions {
  readonly sink: TextSink
  readonly color: Color
  readonly animated: boolean
  readonly clock: Clock
}

export function createProgress({ sink, color, animated, clock }: ProgressOptions): Progress {
  let current: { readonly words: string; readonly since: number; readonly stop: AbortController } | null =
    null

  async function spin(label: string, signal: AbortSignal): Promise<void> {
    for (let at = 0; !signal.aborted; at = (at + 1) % frames.length) {
      sink.write(`\r\u001B[K${color.name(frames[at] ?? '·')} ${oneLine(label, lineColumnsMax)}`)
      await clock.sleep(frameMs, signal).catch(() => undefined)
    }
  }

  function end(mark: string | null): void {
    if (current === null) return
    const { words: label, since, stop } = current
    stop.abort()
    current = null
    if (animated) sink.write('\r\u001B[K')
    if (animated && mark !== null) {
      sink.write(`${mark} ${singleLine(label)} ${color.faint(formatDuration(clock.now() - since))}\n`)
    }
  }

  return {
    step(label) {
      end(color.good('✓'))
      const stop = new AbortController()
      current = { words: label, since: clock.now(), stop }
      if (animated) void spin(label, stop.signal)
      else sink.write(`… ${singleLine(label)}\n`)
    },
    done(label) {
      end(color.good('✓'))
      if (label !== undefined) sink.write(`${color.good('✓')} ${singleLine(label)}\n`)
    },
    fail: () => end(color.bad('✗')),
    failed(label, why) {
      const mark = color.bad('✗')
      const isWatched = animated && current?.words === label
      end(isWatched ? mark : color.good('✓'))
      if (!isWatched) sink.write(`${mark} ${singleLine(label)}\n`)
      sink.write(`  ${singleLine(why)}\n`)
    },
    isShown: () => current !== null,
    pause() {
      if (animated && current !== null) sink.write('\r\u001B[K')
    },
  }
}
