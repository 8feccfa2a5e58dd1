"""M/M/1 in Ciw: one node with one server. Ciw keeps a record of every customer."""

from __future__ import annotations

import ciw
import workload


def main() -> None:
    packets, seed = workload.asked()
    sojourns = workload.Sojourns()
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=workload.ARRIVALS_PER_S)],
        service_distributions=[ciw.dists.Exponential(rate=workload.SERVICES_PER_S)],
        number_of_servers=[1],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(packets, method="Complete")
    for customer in simulation.nodes[-1].all_individuals:
        for record in customer.data_records:
            sojourns.add(record.exit_date - record.arrival_date)
    sojourns.report(f"Ciw {ciw.__version__}")


if __name__ == "__main__":
    main()
