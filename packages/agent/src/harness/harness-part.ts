import type { Log } from '@flotilla/protocol/json-log'
import type { AgentEnvironment } from '../environment.ts'
import type { RunLoop } from '../loop/loop-deps.ts'

type HarnessLoop = (conversation: string) => RunLoop

/** Returns the loop of the agent's harness, loaded with its first run; null if the agent has none. */
export function createHarnessPart({
  environment: { harness, model, programEnvironment, dataDirectory },
  log,
}: {
  readonly environment: AgentEnvironment
  readonly log: Log
}): () => Promise<HarnessLoop | null> {
  let loop: Promise<HarnessLoop> | null = null
  const load = async (chosen: NonNullable<typeof harness>): Promise<HarnessLoop> => {
    const [{ createHarnessLoop }, { createHarnessSessions }, { harnessProgram }] = await Promise.all([
      import('./run-harness.ts'),
      import('./harness-sessions.ts'),
      import('./known-harnesses.ts'),
    ])
    const openAiUrl = programEnvironment['OPENAI_BASE_URL'] ?? ''
    return createHarnessLoop({
      program: harnessProgram(chosen, { model, openAiUrl }),
      environment: programEnvironment,
      directory: dataDirectory,
      sessions: createHarnessSessions(dataDirectory),
      log,
    })
  }
  return async () => (harness === null ? null : (loop ??= load(harness)))
}
