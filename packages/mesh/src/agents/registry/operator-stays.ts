/** Text that names alternatives to deleting or archiving the operator. */
export const operatorStaysWords =
  'Every fleet has its operator: flotilla pause operator stops its work, flotilla restart operator starts it anew, flotilla delete takes a worker, and flotilla reset removes the whole fleet.'
