import { Problem } from '@flotilla/protocol/problem'
import { dataPaths, homeOf, readEnvironment, readTextFile, readWhatHolds } from '../../config/index.ts'
import type { Environment } from '../../config/index.ts'
import { parseEnvText } from '../../credentials/index.ts'

/** What a command does about `.env` of the home. */
export type EnvFileNeed =
  /** Refuses a file that cannot be read and a value that is wrong: agents must not run with less than was asked for. */
  | 'sound'
  /** Refuses a file that cannot be read, and leaves out what is wrong: the file may say which engine it is about. */
  | 'readable'
  /** Goes on with what holds: the way out of a broken home must not be shut by what is broken. */
  | 'whatever-holds'

export interface EnvironmentPlaces {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly userHome: string
}

/** Throws the Problem `unprocessable`, with the line or the name, where the command cannot go on. */
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
    detail: `${error instanceof Problem ? '' : '.env cannot be read: '}${detail}; nothing was done`,
    repair: 'Mend .env of the home, as it may say which engine and ports are meant, then try again.',
    cause: error,
  })
}
