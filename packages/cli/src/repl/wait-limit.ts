import type { MeshClient } from '@flotilla/client/mesh-client'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'

/** The longest time that a command may wait for an answer: a week, after which a waiting run expires. */
export const timeoutMaxSeconds = 604_800

/** The beginnings of ids of approvals, and of browsers that an agent gave to a person. */
const [approvalPrefix, browserPrefix] = ['appr_', 'hand_']

/** How long a command waits for an answer. */
export interface WaitLimit {
  /** Aborts when the command is interrupted or waits no longer; its reason is then a CommandFailed. */
  readonly signal: AbortSignal
  /** Starts the time of `--timeout`. */
  begin(runId: string): void
  /** To be called with each event of the run and its descendants. */
  onEvent(event: FleetEventBody): void
  end(): void
}

/**
 * Without a terminal and without `--timeout`, the command ends as soon as its run waits for a person: a script would
 * wait for days. The run goes on.
 */
export function createWaitLimit(
  { signal, clock, input, terminal }: CommandContext,
  client: MeshClient,
  timeoutSeconds: number | undefined,
): WaitLimit {
  const ended = new AbortController()
  const given = new AbortController()
  const waitsAtTerminal = input.isTTY === true && !terminal.json

  let asked = ''

  async function checkWait(runId: string): Promise<void> {
    const run = await client.call('run', { params: { id: runId }, signal: ended.signal })
    const forPerson = await Promise.all(run.state === 'waiting' ? run.waiting_on.map(isForPerson) : [])
    if (forPerson.includes(true)) given.abort(unfinished(asked, 'waits for you'))
  }

  /** False also for an approval that a person has confirmed and whose action goes on. */
  async function isForPerson(id: string): Promise<boolean> {
    if (!id.startsWith(approvalPrefix)) return id.startsWith(browserPrefix)
    const found = client.call('pendingOne', { params: { id }, signal: ended.signal })
    // A person who may not see approvals waits for an owner.
    return found.then(
      ({ state }) => state === 'pending',
      () => true,
    )
  }

  return {
    signal: AbortSignal.any([signal, given.signal]),
    begin(runId) {
      asked = runId
      if (timeoutSeconds === undefined) return
      clock.sleep(timeoutSeconds * 1000, ended.signal).then(
        () => given.abort(unfinished(runId, `has not ended within ${timeoutSeconds} s`)),
        () => undefined,
      )
    },
    onEvent(event) {
      // A run that waits already is asked about when the mesh has chosen the versions of its packages.
      const mayWait =
        event.type === 'approval.asked' || (event.type === 'run.changed' && event.state === 'waiting')
      if (!mayWait || event.run_id === null || waitsAtTerminal || timeoutSeconds !== undefined) return
      // An error here changes nothing: the stream of the answer reports a mesh that is gone.
      checkWait(event.run_id).catch(() => undefined)
    },
    end: () => ended.abort(),
  }
}

function unfinished(runId: string, what: string): CommandFailed {
  return new CommandFailed('unfinished', {
    detail: `The run ${runId} ${what}; it goes on without this command.`,
    repair: `See what waits for you: flotilla pending. Its answer later: flotilla runs ${runId}`,
    exitCode: exitCodes.unfinished,
  })
}
