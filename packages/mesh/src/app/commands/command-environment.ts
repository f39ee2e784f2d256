import { Problem } from '@flotilla/protocol/problem'
import { dataPaths, homeOf, readEnvironment, readTextFile, readWhatHolds } from '@flotilla/foundation/config'
import type { Environment } from '@flotilla/foundation/config'
import { parseEnvText } from '@flotilla/egress/credentials'

/** How a command treats an invalid `.env` file of the home. */
export type EnvFileNeed =
  /** Rejects an unreadable file and invalid values: agents must never have less protection than configured. */
  | 'sound'
  /** Rejects an unreadable file and ignores invalid values: the readable part may name the engine to use. */
  | 'readable'
  /** Uses all valid values and ignores others, because commands that repair or delete a broken home must work. */
  | 'whatever-holds'

export interface EnvironmentPlaces {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly userHome: string
}

/** Reads a command's settings. Throws the problem `unprocessable`, with line or name, if it cannot continue. */
export async function commandEnvironment(need: EnvFileNeed, places: EnvironmentPlaces): Promise<Environment> {
  const { env, userHome } = places
  const file = await settingsIn(homeOf(env, userHome)).catch((error: unknown) => {
    if (need === 'whatever-holds') return new Map<string, string>()
    throw unreadable(error)
  })
  return need === 'sound' ? readEnvironment(env, userHome, file) : readWhatHolds(env, userHome, file)
}

async function settingsIn(home: string): Promise<ReadonlyMap<string, string>> {
  return parseEnvText((await readTextFile(dataPaths(home).envFile)) ?? '')
}

function unreadable(error: unknown): Problem {
  const detail = error instanceof Error ? error.message : String(error)
  return new Problem('unprocessable', {
    detail: `${error instanceof Problem ? '' : '.env cannot be read: '}${detail}; the command did nothing`,
    repair:
      'Correct .env in the home, then repeat the command. The command needs this file, because it can name the container engine and the ports.',
    cause: error,
  })
}
