import { InvalidArgumentError } from 'commander'

/** A parser for a whole number in a range; what it refuses is a usage error. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

/** A parser for an amount of US dollars in a range; what it refuses is a usage error that names the option. */
export function usdWithin({
  min,
  max,
}: {
  readonly min: number
  readonly max: number
}): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected US dollars from ${min} to ${max}.`)
    }
    return value
  }
}
