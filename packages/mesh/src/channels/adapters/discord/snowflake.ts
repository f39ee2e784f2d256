const discordEpochMs = 1_420_070_400_000
const timeShift = 22n

/** The first id that Discord could have given at that time. Pure. */
export function snowflakeAt(ms: number): string {
  return (BigInt(Math.max(0, Math.floor(ms) - discordEpochMs)) << timeShift).toString()
}

/** When Discord gave it, milliseconds since 1970. Pure. */
export function timeOfSnowflake(id: string): number {
  return Number(BigInt(id) >> timeShift) + discordEpochMs
}

/** Whether the one is later than the other. Pure. */
export function isLater(id: string, other: string): boolean {
  return BigInt(id) > BigInt(other)
}

/** The id before this one. Pure. */
export function before(id: string): string {
  return (BigInt(id) - 1n).toString()
}

export function latest(...ids: readonly (string | null)[]): string | null {
  return ids.reduce((last, id) => (id !== null && (last === null || isLater(id, last)) ? id : last), null)
}
