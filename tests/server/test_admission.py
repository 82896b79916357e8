"""The queue: bounded, fair between clients, and nothing is lost when somebody stops waiting."""

from __future__ import annotations

import asyncio

import pytest

from scansion.server.admission import FairQueue
from scansion.server.errors import ApiError


def test_round_robin_between_clients(run_async):
    async def main():
        queue = FairQueue(1, 100)
        order = []

        async def job(client, number):
            async with queue.place(client):
                order.append(f"{client}{number}")
                await asyncio.sleep(0)

        async with queue.place("first"):
            jobs = [asyncio.create_task(job("a", number)) for number in range(4)]
            await asyncio.sleep(0)
            jobs += [asyncio.create_task(job("b", number)) for number in range(2)]
            await asyncio.sleep(0)
        await asyncio.gather(*jobs)
        assert queue.held == queue.waiting == 0
        return order

    assert run_async(main()) == ["a0", "b0", "a1", "b1", "a2", "a3"]


def test_full(run_async):
    async def main():
        queue = FairQueue(1, 2, per_client=2)

        async def wait(client):
            async with queue.place(client):
                await asyncio.sleep(0.01)

        async with queue.place("x"):
            waiting = [asyncio.create_task(wait("a")), asyncio.create_task(wait("b"))]
            await asyncio.sleep(0)
            with pytest.raises(ApiError) as caught:
                await wait("c")
            assert caught.value.status == 429
            assert caught.value.retry_after >= 1
        await asyncio.gather(*waiting)

    run_async(main())


def test_one_client_cannot_fill_the_queue(run_async):
    async def main():
        queue = FairQueue(1, 4)

        async def wait(client):
            async with queue.place(client):
                pass

        async with queue.place("x"):
            greedy = [asyncio.create_task(wait("greedy")) for _ in range(4)]
            await asyncio.sleep(0)
            other = asyncio.create_task(wait("other"))
            await asyncio.sleep(0)
        refused = [result for result in await asyncio.gather(*greedy, return_exceptions=True) if isinstance(result, ApiError)]
        assert len(refused) == 2
        await other

    run_async(main())


def test_cancelled_while_waiting(run_async):
    async def main():
        queue = FairQueue(1, 10)
        done = []

        async def wait(name):
            async with queue.place(name):
                done.append(name)

        async with queue.place("x"):
            first, second = asyncio.create_task(wait("a")), asyncio.create_task(wait("b"))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.sleep(0)
            assert queue.waiting == 1
        await second
        assert done == ["b"]
        # Cancelled in the same turn in which its place was given: the place goes on to the next.
        async with queue.place("x"):
            third, fourth = asyncio.create_task(wait("c")), asyncio.create_task(wait("d"))
            await asyncio.sleep(0)
        third.cancel()
        await asyncio.gather(third, fourth, return_exceptions=True)
        assert done == ["b", "d"]
        assert queue.held == queue.waiting == 0

    run_async(main())
