import * as z from 'zod'

const profileSchema = z.looseObject({
  syscalls: z.array(z.looseObject({ action: z.string(), errnoRet: z.number().optional() })),
})

const notImplemented = 38

/**
 * The filter of system calls of a container, for a program behind gVisor, which knows one refusal alone. Of a call that
 * programs must take for one that is not there, so that they use another, a tracer would be told, and there is none: then
 * it is not there. Pure.
 */
export function gvisorFilter(profile: string): string {
  const { syscalls, ...rest } = profileSchema.parse(JSON.parse(profile))
  return JSON.stringify({
    ...rest,
    syscalls: syscalls.map((rule) =>
      rule.action === 'SCMP_ACT_ERRNO' && rule.errnoRet === notImplemented
        ? { ...rule, action: 'SCMP_ACT_TRACE', errnoRet: undefined }
        : rule,
    ),
  })
}
