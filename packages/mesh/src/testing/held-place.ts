import type { ProbeReport } from '../sandbox/isolation/isolation-report.ts'

/** What a probe tells of its own place where every wall of the kernel holds; whom it tried to reach comes beside it. */
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
