import * as z from 'zod'
import { hostPattern } from './host-pattern.ts'

/** Ranges of the settings, for all agents together. */
export const captchaRanges = {
  /** How many CAPTCHAs all agents together may have solved in an hour. */
  perHour: { default: 20, min: 1, max: 500 },
  /** How much all agents together may spend on CAPTCHAs in a day, in US dollars. */
  dailyUsd: { default: 1, min: 0, max: 1000 },
  /** The maximum cost that is assumed for one answer of the solver, in US dollars, for each key that is tried. */
  answerUsd: { default: 0.005, min: 0.0001, max: 1 },
}
/** The maximum number of hosts whose CAPTCHAs the owner excludes from the paid solver. */
const neverSolveMax = 1000

const amount = ({ min, max, default: usual }: { min: number; max: number; default: number }) =>
  z.number().min(min).max(max).default(usual)

/**
 * Part of `config/settings.json`: the service that solves CAPTCHAs, and its limits. Its key is in the environment.
 */
export const captchaSettingsSchema = z
  .strictObject({
    /** A service with the API `createTask` and `getTaskResult`, as 2Captcha and Anti-Captcha have. */
    solver_url: z.url({ protocol: /^https?$/ }).default('https://api.2captcha.com'),
    /** The address of the solver for the secondary key; `solver_url` if omitted. */
    secondary_solver_url: z.url({ protocol: /^https?$/ }).optional(),
    /** The maximum number of answers requested in an hour, for all agents together. */
    per_hour: amount(captchaRanges.perHour).pipe(z.number().int()),
    /** The maximum that all agents together may spend on answers in a UTC day. */
    daily_usd: amount(captchaRanges.dailyUsd),
    /** US dollars that are reserved before each answer; after the answer, its real cost replaces the reservation. */
    answer_usd: amount(captchaRanges.answerUsd),
    /** The proxy through which the solver visits the page; its login and password are in the environment. */
    proxy: z
      .strictObject({
        type: z.enum(['http', 'socks5']),
        address: z.union([z.ipv4(), z.ipv6()]),
        port: z.number().int().min(1).max(65_535),
      })
      .optional(),
    /** Sites whose CAPTCHAs only a person answers. */
    never_solve: z.array(hostPattern).max(neverSolveMax).default([]),
  })
  .prefault({})

export type CaptchaSettings = z.output<typeof captchaSettingsSchema>
