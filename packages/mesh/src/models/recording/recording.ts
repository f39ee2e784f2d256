import type { Caller, Guard } from '../../access/index.ts'
import type { CassetteRecorder } from './record-cassette.ts'

/** Conversations with models, recorded for people who play them again. Problem `denied`. */
export type Recording = ReturnType<typeof createRecording>

export function createRecording({
  guard,
  recorder,
}: {
  readonly guard: Guard
  readonly recorder: Pick<CassetteRecorder, 'start' | 'stop'>
}) {
  return {
    start(caller: Caller): void {
      guard(caller, { do: 'manage-fleet' })
      recorder.start()
    },
    /** What was recorded since the start. */
    stop(caller: Caller) {
      guard(caller, { do: 'manage-fleet' })
      return recorder.stop()
    },
  }
}
