/** The limits of an agent's container: memory, processor, processes and temporary files. */
export const containerLimits = {
  worker: { memoryBytes: 384 * 1024 * 1024, cpu: 0.15 }, // limits:worker-container
  operator: { memoryBytes: 128 * 1024 * 1024, cpu: 0.05 }, // limits:operator-container
  pids: 256,
  tmpBytes: 100 * 1024 * 1024,
} as const
