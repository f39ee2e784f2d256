import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { Clock } from '@flotilla/protocol/clock'
import type { Progress } from './terminal/progress.ts'

/** How often an approval is read whose action is being carried out, in milliseconds. */
const readEveryMs = 2000

/**
 * Waits until the action of a confirmed approval has ended, however long it takes, and returns the approval with its
 * outcome. Shows that the action is being carried out. Rejects if the mesh does not answer, or with the signal's reason.
 */
export async function followApproval(
  approval: ApprovalView,
  deps: {
    readonly read: () => Promise<ApprovalView>
    readonly progress: Pick<Progress, 'step' | 'done' | 'fail'>
    readonly clock: Pick<Clock, 'sleep'>
    readonly signal: AbortSignal
  },
): Promise<ApprovalView> {
  let now = approval
  if (now.state !== 'confirmed') return now
  deps.progress.step(`Confirmed; the mesh carries it out: ${approval.summary}`)
  try {
    for (;;) {
      now = await deps.read()
      if (now.state !== 'confirmed') break
      await deps.clock.sleep(readEveryMs, deps.signal)
    }
  } catch (error) {
    deps.progress.fail()
    throw error
  }
  if (now.state === 'done') deps.progress.done()
  else deps.progress.fail()
  return now
}
