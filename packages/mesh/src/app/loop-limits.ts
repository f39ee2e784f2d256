import type { Environment, Settings } from '@flotilla/foundation/config'

/**
 * Returns the owner's limits for every agent's loop, as environment variables. A change takes effect at the agent's
 * next start.
 */
export function loopLimits(environment: Environment, settings: Settings): Readonly<Record<string, string>> {
  return {
    FLOTILLA_MAX_ITERATIONS: String(environment.maxIterations),
    FLOTILLA_CHAT_MAX_TOOL_ROUNDS: String(environment.chatMaxToolRounds),
    FLOTILLA_CHAT_MAX_TOTAL_ROUNDS: String(environment.chatMaxTotalRounds),
    FLOTILLA_KEEP_ALIVE_MS: String(settings.keep_alive_seconds * 1000),
    FLOTILLA_EMBEDDING_MODEL: settings.embedding_model ?? '',
  }
}
