import process from 'node:process'
import { signSession } from '../../packages/identity/src/http/gates/session-cookie.ts'

/** Content of the access token file of the hosted machine below. */
export const hostedToken = 'a-hosted-machine-s-access-token'

/** A private view of the file system (mount namespace) needs root; container tests run as root. */
export const canBeHosted = process.getuid?.() === 0

/** Runs a program with a view of the file system in which this machine is a hosted one; the view ends with it. */
export const onHostedMachine = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  `mount -t tmpfs none /opt && mkdir /opt/flotilla && printf %s ${hostedToken} > /opt/flotilla/.access_token && exec "$0" "$@"`,
] as const

/** Returns an `ol_session` value that is valid for this many seconds, signed with the right token or another. */
export function sessionOf(token = hostedToken, seconds = 600): string {
  return signSession(token, { nowMs: Date.now(), seconds })
}
