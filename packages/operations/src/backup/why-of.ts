import { Problem } from '@flotilla/protocol/problem'

const whyMaxChars = 500

/** The reason of an error in one line, without its repair. Pure. */
export function whyOf(error: unknown): string {
  const why =
    error instanceof Problem
      ? typeof error.extra['why'] === 'string'
        ? error.extra['why']
        : error.detail
      : error instanceof Error
        ? (error.message.split('\nRepair:', 1)[0] ?? '')
        : String(error)
  return why.replaceAll(/\s+/g, ' ').trim().slice(0, whyMaxChars)
}
