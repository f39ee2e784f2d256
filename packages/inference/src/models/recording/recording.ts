import type { Caller, Guard } from '@flotilla/identity/access'
import type { CassetteRecorder } from './record-cassette.ts'

/** Lets people record conversations with models, to play them later. Throws the Problem `denied`. */
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
    /** Ends the recording and returns what was recorded. */
    stop(caller: Caller) {
      guard(caller, { do: 'manage-fleet' })
      return recorder.stop()
    },
  }
}
