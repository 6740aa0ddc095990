import type { LoadRequest, PlannerComponent, PlannerDevice, PlannerPolicy } from './types.ts';

/**
 * Bytes that a request may use beside what is placed: what is really free, plus our own unused caches, minus what
 * running stages were promised. What we gave back counts at once (the ledger decides); what another program took in
 * the meantime counts too (the driver's number only lowers the budget).
 */
export function freeBytes(device: PlannerDevice, policy: PlannerPolicy): number {
  const unused = device.scratchBytes + device.idleSlotBytes;
  const free = uncachedFree(device) + unused;
  const limited =
    policy.limitBytes === null ? free : Math.min(free, policy.limitBytes - (device.heldBytes - unused));
  return limited - device.promisedBytes;
}

/** Free without touching our caches. */
export function uncachedFree(device: PlannerDevice): number {
  return Math.min(device.driverFreeBytes, device.totalBytes - device.heldBytes);
}

/** The components that a request names, on the planner's device, in the request's order. */
export function requested(
  components: readonly PlannerComponent[],
  request: LoadRequest,
  device: string,
): PlannerComponent[] {
  const wanted = new Set(request.components);
  const found = new Map<string, PlannerComponent>();
  for (const component of components) {
    if (component.device === device && wanted.has(component.id)) found.set(component.id, component);
  }
  return request.components.map((id) => {
    const component = found.get(id);
    if (component === undefined)
      throw new Error(`The request "${request.name}" names "${id}", which is not on ${device}.`);
    return component;
  });
}
