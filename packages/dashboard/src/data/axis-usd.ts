import { formatUsd } from './format.ts'

/** The most digits after the point of a label; a smaller step is shown as such an amount anyway. */
const digitsMax = 6

/** Formats a label of an axis with as many digits as its steps need, so that no two labels are equal. Pure. */
export function axisUsd(usd: number, stepUsd: number): string {
  let digits = 2
  while (digits < digitsMax && Math.abs(Number(stepUsd.toFixed(digits)) - stepUsd) > stepUsd * 1e-6) digits++
  return digits === 2 && stepUsd >= 0.01 ? formatUsd(usd) : `$${usd.toFixed(digits)}`
}
