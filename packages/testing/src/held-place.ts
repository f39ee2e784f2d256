import type { ProbeReport } from '../../fleet/src/sandbox/hardening/isolation-report.ts'

/**
 * The report of a probe in a sandbox in which every kernel restriction works; the attempted connections are reported
 * separately.
 */
export const heldPlace: Omit<ProbeReport, 'attempts'> = {
  status: {
    CapInh: '0',
    CapPrm: '0',
    CapEff: '0',
    CapBnd: '0',
    CapAmb: '0',
    NoNewPrivs: '1',
    Seccomp: '2',
    Uid: '1000',
  },
  writeRoot: 'EROFS',
  writeEtc: 'EROFS',
  writeOwned: 'EROFS',
  makeMessageQueue: 'EROFS',
  execInTmp: 'EACCES',
  userNamespace: 'exit 1: not permitted',
  networkNamespace: 'exit 1: not permitted',
  mount: 'exit 32: denied',
  processes: { started: 243, said: 'Cannot fork' },
  openFilesMax: '8192',
  engineSocket: 'none',
  addresses: ['127.0.0.1', '10.64.0.4'],
}
