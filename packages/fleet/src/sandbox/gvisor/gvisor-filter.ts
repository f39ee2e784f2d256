import * as z from 'zod'

const profileSchema = z.looseObject({
  syscalls: z.array(z.looseObject({ action: z.string(), errnoRet: z.number().optional() })),
})

const notImplemented = 38

/**
 * Adapts a container's seccomp filter for gVisor, which supports a single refusal action. Some programs use another
 * system call only if the first fails with ENOSYS; for these calls the filter names a tracer, and as no tracer runs,
 * the kernel returns ENOSYS. Pure.
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
