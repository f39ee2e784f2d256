import { Problem } from '@flotilla/protocol/problem'

/**
 * Converts whole units to base units: `1.5` at 6 decimals is 1500000. Problem `bad-request` if a digit would be
 * lost. Pure.
 */
export function baseUnits(amount: string, decimals: number): bigint {
  const [, whole, fraction = ''] = /^(\d{1,60})(?:\.(\d{1,60}))?$/.exec(amount) ?? []
  if (whole === undefined) {
    throw new Problem('bad-request', {
      detail: 'an amount must be digits, with a decimal point if needed, such as 0.25',
    })
  }
  if (fraction.length > decimals) {
    throw new Problem('bad-request', {
      detail: `an amount of this coin or token may have at most ${decimals} digits after the point`,
    })
  }
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** Converts base units to whole units by digits, because a float would lose the last ones. Pure. */
export function wholeUnits(raw: bigint, decimals: number): string {
  const sign = raw < 0n ? '-' : ''
  const digits = String(raw < 0n ? -raw : raw).padStart(decimals + 1, '0')
  const at = digits.length - decimals
  const fraction = digits.slice(at).replace(/0+$/, '')
  return `${sign}${digits.slice(0, at)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Converts millionths of a US dollar to US dollars. Pure. */
export function usdOfMicro(microUsd: number): number {
  return microUsd / 1_000_000
}
