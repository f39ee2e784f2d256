import { nearestName, nearestNames } from './nearest-name.ts'

/** The longest text that is read as words, in characters. */
const wordsMaxChars = 100

const weekdays: Readonly<Record<string, string>> = {
  sunday: '0',
  monday: '1',
  tuesday: '2',
  wednesday: '3',
  thursday: '4',
  friday: '5',
  saturday: '6',
  day: '*',
  weekday: '1-5',
  weekend: '0,6',
}
/** The hour of a part of the day that names none. */
const partsOfDay: Readonly<Record<string, number>> = {
  morning: 9,
  noon: 12,
  afternoon: 15,
  evening: 18,
  night: 22,
  midnight: 0,
}
/** Parts of the day in which an hour is one after noon, from this hour on: 2 at night is before it, 10 is not. */
const lateFrom: Readonly<Record<string, number>> = { afternoon: 1, evening: 1, night: 6 }
const units: Readonly<Record<string, string>> = { second: 's', minute: 'm', hour: 'h', day: 'd' }
const ordinal = /^(\d{1,2})(?:st|nd|rd|th)$/

/** Forms that are understood, which are offered for one that is not. */
export const scheduleExamples = [
  'every morning at 9',
  'every day at 14:30',
  'every weekday at 8:30',
  'every monday at 9',
  'every monday and thursday at 17:00',
  'every weekend at 10',
  'every hour',
  'every 15 minutes',
  'every evening at 6',
  'on the 1st of every month at 9',
] as const

/**
 * Reads a schedule that a person wrote in words, such as `every morning at 9`, as fields of cron or as an interval; null
 * for words that are not understood, and for a schedule that is in one of these forms already. Pure.
 */
export function readScheduleWords(text: string): string | null {
  if (text.length > wordsMaxChars) return null
  const words = plainWords(text)
  return readInterval(words) ?? readMonthly(words) ?? readDays(words)
}

function plainWords(text: string): string {
  return text.toLowerCase().replaceAll(/[,.]/g, ' ').trim().replaceAll(/\s+/g, ' ')
}

function readInterval(words: string): string | null {
  if (words === 'hourly' || words === 'every hour') return '0 * * * *'
  const [, count = '1', unit = ''] = /^every (?:(\d{1,4}) )?(second|minute|hour|day)s?$/.exec(words) ?? []
  const short = units[unit]
  // A day without a time of day is read as one that has one.
  return short === undefined || Number(count) === 0 || words === 'every day'
    ? null
    : `every ${Number(count)}${short}`
}

function readMonthly(words: string): string | null {
  if (words === 'monthly') return `0 ${partsOfDay['morning']} 1 * *`
  const [, day = '', time = ''] = /^(?:on )?the (\S+) of (?:every|each) month(?: (.+))?$/.exec(words) ?? []
  const number = Number(ordinal.exec(day)?.[1] ?? 0)
  const at = readTime(time)
  return number < 1 || number > 31 || at === null ? null : `${at.minute} ${at.hour} ${number} * *`
}

function readDays(words: string): string | null {
  if (words === 'daily') return `0 ${partsOfDay['morning']} * * *`
  if (words === 'weekly') return `0 ${partsOfDay['morning']} * * 1`
  // Without a first “every”, only `daily` and a plural such as `mondays` say that the time returns.
  const repeated = words.replace(/^(?=[a-z ]*?s(?: at | in |$))(?!every |each |on )|^daily(?= )/, (found) =>
    found === '' ? 'every ' : 'every day',
  )
  const [, named = '', time = ''] = /^(?:every|each|on) (.+?)(?: ((?:at|in the) .+))?$/.exec(repeated) ?? []
  const names = named
    .split(/ and | /)
    .filter((name) => name !== '' && name !== 'every')
    .map((name) => name.replace(/s$/, ''))
  const part = names.findLast((name) => Object.hasOwn(partsOfDay, name))
  const days = names.filter((name) => name !== part).map(dayOf)
  if (names.length === 0 || days.includes(undefined)) return null
  const at = readTime(time, part)
  const known = [...new Set(days)].toSorted((one = '', other = '') => one.localeCompare(other))
  const on = known.length === 0 || known.includes('*') ? '*' : known.join(',')
  return at === null ? null : `${at.minute} ${at.hour} * * ${on}`
}

function dayOf(name: string): string | undefined {
  return Object.hasOwn(weekdays, name) ? weekdays[name] : undefined
}

/** Reads `at 9`, `at 9:30`, `at 6 pm` or `in the morning`; nothing is the usual hour of the part of the day. */
function readTime(text: string, named?: string): { readonly hour: number; readonly minute: number } | null {
  if (text === '') return { hour: partsOfDay[named ?? 'morning'] ?? 0, minute: 0 }
  const found = /^(?:at )?(\d{1,2})(?::(\d{2}))? ?(am|pm|o'clock)?(?: in the (\w+))?$/.exec(text)
  const [, hours = '', minutes = '0', half, partOfTime] = found ?? []
  if (!found) {
    const [, only = ''] = /^(?:at|in the) (\w+)$/.exec(text) ?? []
    return Object.hasOwn(partsOfDay, only) ? { hour: partsOfDay[only] ?? 0, minute: 0 } : null
  }
  const [hour, minute] = [Number(hours), Number(minutes)]
  const late = lateFrom[partOfTime ?? named ?? ''] ?? Number.POSITIVE_INFINITY
  const isLate = half === 'pm' || (half !== 'am' && hour >= late)
  const shown = isLate && hour < 12 ? hour + 12 : half === 'am' && hour === 12 ? 0 : hour
  return shown > 23 || minute > 59 || ((half === 'am' || half === 'pm') && (hour < 1 || hour > 12))
    ? null
    : { hour: shown, minute }
}

/** True for text that is written as words and not as fields of cron or as `every 15m`. Pure. */
export function looksLikeWords(text: string): boolean {
  const typed = text.trim()
  return /^[a-z]/i.test(typed) && !/^every\s+\d+\s*[smhd]$/i.test(typed)
}

/** The words that mean a time, each of which a near form must share with the text. */
const timeWords = [
  ...Object.keys(weekdays),
  ...Object.keys(partsOfDay),
  ...Object.keys(units),
  'month',
  'hourly',
  'daily',
  'weekly',
  'monthly',
]
const otherWords = ['every', 'each', "o'clock"]
/** A shorter word resembles too many others to be corrected. */
const correctedMinChars = 4

/**
 * Returns the form that a text was most likely meant to be: the text with its mistyped words corrected, else a form
 * about the same day, part of a day or unit; null if none is near in meaning. Pure.
 */
export function nearestScheduleWords(text: string): string | null {
  if (text.length > wordsMaxChars || whyNoSchedule(text) !== null) return null
  const words = plainWords(text).split(' ').map(corrected)
  const whole = words.join(' ')
  for (const form of [whole, `every ${whole}`]) if (readScheduleWords(form) !== null) return form
  const meant = new Set(words.map(singular).filter((word) => timeWords.includes(word)))
  const near = scheduleExamples.filter((example) =>
    example.split(' ').some((word) => meant.has(singular(word))),
  )
  return nearestNames(whole, near, 1)[0] ?? null
}

function corrected(word: string): string {
  if (word.length < correctedMinChars || !/^[a-z]+$/.test(word)) return word
  const known = [...otherWords, ...timeWords]
  if (known.includes(singular(word))) return word
  const plurals = timeWords.map((one) => `${one}s`)
  return nearestName(word, word.endsWith('s') ? [...plurals, ...known] : [...known, ...plurals]) ?? word
}

function singular(word: string): string {
  return word.replace(/s$/, '')
}

/** Returns why a text can be no schedule, however it is written; null for every other text. Pure. */
export function whyNoSchedule(text: string): string | null {
  const words = plainWords(text.slice(0, wordsMaxChars))
  if (
    /^(?:on )?(?:every|each) (?:(?:other|second|2nd|third|3rd) (?!.*\bmonth)[a-z]|\d+ weeks)|\b(?:biweekly|fortnight)/.test(
      words,
    )
  )
    return 'it would leave out some of the times, which only an interval can do, such as every 2h, every 2d or every 14d'
  if (/^(?:in (?:an?|\d+) |once$|once at |now$|today\b|tonight\b|tomorrow\b|next )/.test(words))
    return 'it is a single time, and a schedule repeats; write how often, such as every day at 9'
  return null
}
