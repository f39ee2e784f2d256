import { toString as wordsOfCron } from 'cronstrue'

const units: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day' }

/** Describes a schedule, such as `Every 15 minutes` or `At 09:00, Monday through Friday`. Pure. */
export function formatSchedule(schedule: string): string {
  const [, count = '', unit = ''] = /^every\s+(\d{1,9})\s*([smhd])$/i.exec(schedule.trim()) ?? []
  const name = units[unit.toLowerCase()]
  if (name !== undefined) return Number(count) === 1 ? `Every ${name}` : `Every ${Number(count)} ${name}s`
  try {
    return wordsOfCron(schedule, { use24HourTimeFormat: true })
  } catch {
    // A schedule that the formatter cannot parse is shown unchanged.
    return schedule
  }
}
