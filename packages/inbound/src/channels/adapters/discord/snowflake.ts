const discordEpochMs = 1_420_070_400_000
const timeShift = 22n

/** Returns the smallest id that Discord could have issued at that time. Pure. */
export function snowflakeAt(ms: number): string {
  return (BigInt(Math.max(0, Math.floor(ms) - discordEpochMs)) << timeShift).toString()
}

/** Returns the time at which Discord issued the id, in milliseconds since 1970. Pure. */
export function timeOfSnowflake(id: string): number {
  return Number(BigInt(id) >> timeShift) + discordEpochMs
}

/** True if `id` is later than `other`. Pure. */
export function isLater(id: string, other: string): boolean {
  return BigInt(id) > BigInt(other)
}

/** Returns the id that is one less than this id. Pure. */
export function before(id: string): string {
  return (BigInt(id) - 1n).toString()
}

export function latest(...ids: readonly (string | null)[]): string | null {
  return ids.reduce((last, id) => (id !== null && (last === null || isLater(id, last)) ? id : last), null)
}
