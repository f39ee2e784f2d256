import type { Environment, Settings } from '../config/index.ts'

/** What the owner set for the loop of every agent, as variables of its process. A change waits for its next start. */
export function loopLimits(environment: Environment, settings: Settings): Readonly<Record<string, string>> {
  return {
    FLOTILLA_MAX_ITERATIONS: String(environment.maxIterations),
    FLOTILLA_CHAT_MAX_TOOL_ROUNDS: String(environment.chatMaxToolRounds),
    FLOTILLA_CHAT_MAX_TOTAL_ROUNDS: String(environment.chatMaxTotalRounds),
    FLOTILLA_KEEP_ALIVE_MS: String(settings.keep_alive_seconds * 1000),
    FLOTILLA_EMBEDDING_MODEL: settings.embedding_model ?? '',
  }
}
