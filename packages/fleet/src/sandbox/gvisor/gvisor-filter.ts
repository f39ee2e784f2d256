import * as z from 'zod'

const profileSchema = z.looseObject({
  syscalls: z.array(z.looseObject({ action: z.string(), errnoRet: z.number().optional() })),
})

const notImplemented = 38

/**
 * Adapts a container's seccomp filter for a program behind gVisor, which supports a single refusal action.
 * Where programs must see ENOSYS to fall back to another call, the profile uses a tracer action: without a
 * tracer the call fails with ENOSYS. Pure.
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
