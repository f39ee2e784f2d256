/** Digits behind the point, at most; Slack writes six. */
const fractionDigits = 10

/** Whether the one message was written after the other, by their times as Slack writes them. Pure. */
export function isLater(ts: string, other: string): boolean {
  const [one, two] = [partsOf(ts), partsOf(other)]
  return one.seconds === two.seconds ? one.fraction > two.fraction : one.seconds > two.seconds
}

/** So many milliseconds since 1970. Pure. */
export function timestampAt(ms: number): string {
  return `${Math.max(0, Math.floor(ms / 1000))}.000000`
}

/** Milliseconds since 1970, the fraction of a second left out. Pure. */
export function timeOf(ts: string): number {
  return partsOf(ts).seconds * 1000
}

function partsOf(ts: string): { readonly seconds: number; readonly fraction: string } {
  const [seconds = '0', fraction = ''] = ts.split('.')
  return { seconds: Number(seconds), fraction: fraction.padEnd(fractionDigits, '0') }
}
