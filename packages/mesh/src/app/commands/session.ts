import { accessTokenPath } from '@flotilla/protocol/hosted'
import { Problem } from '@flotilla/protocol/problem'
import { signSession } from '@flotilla/identity/http'
import { readAccessToken } from '@flotilla/foundation/config'
import { systemClock } from '@flotilla/foundation/platform'
import type { CommandContext } from './command-context.ts'

/** Lifetime of a session, seconds; clients renew their session once an hour. */
const sessionLifeSeconds = 3600

/** Signs a session for the command line on a hosted machine: a user who may read the access token is an owner. */
export async function session({ print }: CommandContext): Promise<number> {
  const token = readAccessToken()
  if (token === null) {
    print({ session: null })
    return 0
  }
  if (token === '') {
    throw new Problem('unauthenticated', {
      detail: `${accessTokenPath} is missing, empty, or not readable for this user; run the command as a user who may read the file, or set FLOTILLA_SESSION to the value of the ol_session cookie`,
    })
  }
  print({ session: signSession(token, { nowMs: systemClock.now(), seconds: sessionLifeSeconds }) })
  return 0
}
