import type { ProblemKind } from './problem-kind.ts'

/** Problems of failed writes, of the mesh and of an agent; part of the one catalogue. */
export const storageProblems = {
  'disk-full': {
    status: 507,
    title: 'The disk of the mesh is full',
    retryable: true,
    repair:
      'Free space on the disk of the home (flotilla doctor shows how much there is); accepted work is not lost.',
  },
  'storage-failing': {
    status: 503,
    title: 'The storage of the mesh cannot be written',
    retryable: true,
    repair:
      'Check the disk of the home: whether it is mounted read-only, reports errors, or another program holds the database (flotilla doctor). The mesh continues automatically once a write succeeds.',
  },
  'too-many-files': {
    status: 503,
    title: 'The mesh has too many open files',
    retryable: true,
    repair:
      'Try again soon: files are closed as work ends. If the error persists, raise the limit (ulimit -n, or LimitNOFILE= of the service), then flotilla stop and flotilla start -d.',
  },
  'data-full': {
    status: 507,
    title: 'The agent’s data has reached its size limit',
    retryable: false,
    repair: 'Delete files below /data, or raise data_limit_mb in config/settings.json and restart the agent.',
  },
} as const satisfies Record<string, ProblemKind>
