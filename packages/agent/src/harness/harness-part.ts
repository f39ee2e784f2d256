import type { Log } from '@flotilla/protocol/json-log'
import type { AgentEnvironment } from '../environment.ts'
import type { RunLoop } from '../loop/loop-deps.ts'

type HarnessLoop = (conversation: string) => RunLoop

/** Returns the loop of the agent's harness, loaded with its first run; null if the agent has none. */
export function createHarnessPart({
  environment: { harness, programEnvironment, dataDirectory },
  log,
}: {
  readonly environment: AgentEnvironment
  readonly log: Log
}): () => Promise<HarnessLoop | null> {
  let loop: Promise<HarnessLoop> | null = null
  const load = async (program: NonNullable<typeof harness>): Promise<HarnessLoop> => {
    const [{ createHarnessLoop }, { createHarnessSessions }] = await Promise.all([
      import('./run-harness.ts'),
      import('./harness-sessions.ts'),
    ])
    return createHarnessLoop({
      program,
      environment: programEnvironment,
      directory: dataDirectory,
      sessions: createHarnessSessions(dataDirectory),
      log,
    })
  }
  return async () => (harness === null ? null : (loop ??= load(harness)))
}
