/** The maximum number of fraction digits. Slack writes six. */
const fractionDigits = 10

/** Compares two Slack timestamps. True if `ts` is later. Pure. */
export function isLater(ts: string, other: string): boolean {
  const [one, two] = [partsOf(ts), partsOf(other)]
  return one.seconds === two.seconds ? one.fraction > two.fraction : one.seconds > two.seconds
}

/** Returns the Slack timestamp for milliseconds since 1970. Pure. */
export function timestampAt(ms: number): string {
  return `${Math.max(0, Math.floor(ms / 1000))}.000000`
}

/** Returns a Slack timestamp as milliseconds since 1970, without the fraction of a second. Pure. */
export function timeOf(ts: string): number {
  return partsOf(ts).seconds * 1000
}

function partsOf(ts: string): { readonly seconds: number; readonly fraction: string } {
  const [seconds = '0', fraction = ''] = ts.split('.')
  return { seconds: Number(seconds), fraction: fraction.padEnd(fractionDigits, '0') }
}
