import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The people's API: backups of the home, which an owner makes and looks at from a page. */
export const backupEndpoints = {
  backups: {
    method: 'GET',
    path: '/api/backups',
    summary: 'Backups in the folder of the home, and what is being done with one',
  },
  backupMake: {
    method: 'POST',
    path: '/api/backups',
    summary: 'Begins a backup of the whole home; answers before it is made',
  },
  backupVerify: {
    method: 'POST',
    path: '/api/backups/{name}/verify',
    summary: 'Begins to read a backup to its end as a restore would; answers before that is done',
  },
} as const satisfies Record<string, Endpoint>

export const backupLimits = {
  /** Shorter ones are guessed whatever is computed of them. */
  passphraseMinChars: 8,
  passphraseMaxChars: 1000,
  /** In the folder of the home; an owner who wants more moves older ones away. */
  keptMax: 50,
  /** Of one sentence that the program which works says. */
  wordsMaxChars: 1000,
} as const

/** Made by the mesh of the moment, so that no name leads anywhere else. */
export const backupNameSchema = z
  .string()
  .check(z.regex(/^backup-\d{8}T\d{6}Z$/, 'a backup is named like backup-20260131T235959Z'))

/** The first line of a file is what the command line reads as one. */
const passphrase = z
  .string()
  .check(
    z.minLength(
      backupLimits.passphraseMinChars,
      `a passphrase has ${backupLimits.passphraseMinChars} characters or more`,
    ),
    z.maxLength(backupLimits.passphraseMaxChars),
    z.regex(/^[^\p{Cc}]*$/u, 'a passphrase is one line'),
  )

const words = z.string().check(z.maxLength(backupLimits.wordsMaxChars))

export const backupFileSchema = z.strictObject({
  name: backupNameSchema,
  bytes: z.int(),
  /** Milliseconds since 1970. */
  made_at: z.number(),
  /** Whether a passphrase closes it; null where the file does not begin as a backup does. */
  encrypted: z.nullable(z.boolean()),
})
export type BackupFile = z.infer<typeof backupFileSchema>

const deed = z.enum(['make', 'verify'])

export const backupsSchema = z.strictObject({
  /** Where they are on the machine of the mesh. */
  folder: z.string(),
  /** Newest first. */
  backups: z.array(backupFileSchema),
  /** What goes on now; null while nothing does. */
  working: z.nullable(
    z.strictObject({
      deed,
      name: backupNameSchema,
      step: words,
      bytes: z.number(),
      /** Null if unknown beforehand. */
      of: z.nullable(z.number()),
      started_at: z.number(),
    }),
  ),
  /** How the last one ended since the mesh was started; null before the first. */
  last: z.nullable(
    z.strictObject({
      deed,
      name: backupNameSchema,
      ok: z.boolean(),
      /** What came of it, or what is wrong and how to mend it. */
      words,
      ended_at: z.number(),
    }),
  ),
})
export type BackupsView = z.infer<typeof backupsSchema>

export const backupApi = {
  backups: { response: backupsSchema },
  backupMake: {
    request: z.strictObject({
      /** Null leaves the secrets out: nothing would close them. */
      passphrase: z.nullable(passphrase),
    }),
    response: backupsSchema,
  },
  backupVerify: {
    request: z.strictObject({ passphrase: z.nullable(passphrase) }),
    response: backupsSchema,
  },
} as const satisfies Record<keyof typeof backupEndpoints, EndpointSchemas>
